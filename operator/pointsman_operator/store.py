"""The newest sight of every resource and of every ConfigMap, whichever way it came."""

from collections.abc import Iterator, Mapping
from typing import Generic, Protocol, TypeVar

from pointsman_operator.seen import ConfigMap, Resource, ViewResource
from pointsman_operator.spec import Identity


class _Versioned(Protocol):
    @property
    def version(self) -> int: ...


_Sight = TypeVar("_Sight", bound=_Versioned)


class Sights(Generic[_Sight]):
    """What is known of the objects of one kind, by key.

    Events, lists and answers to writes overtake each other: a sight counts only if it is newer
    than what is known, and what is gone is not brought back by what was said of it before.
    """

    def __init__(self) -> None:
        self._known: dict[str, _Sight] = {}
        self._gone: dict[str, int] = {}
        self._listed_version = 0

    def get(self, key: str) -> _Sight | None:
        """Return what is known of `key`."""
        return self._known.get(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def values(self) -> list[_Sight]:
        """Return what is known."""
        return list(self._known.values())

    def put(self, key: str, sight: _Sight) -> bool:
        """Take `sight`; say whether it was news."""
        known = self._known.get(key)
        if known is not None and known.version >= sight.version:
            return False
        if sight.version < self._gone.get(key, 0):
            return False
        self._known[key] = sight
        return True

    def drop(self, key: str, version: int) -> bool:
        """Take it that `key` was gone at `version`; say whether that was news."""
        known = self._known.get(key)
        if known is not None and known.version > version:
            return False
        self._gone[key] = max(version, self._gone.get(key, 0))
        return self._known.pop(key, None) is not None

    def take_list(self, listed: Mapping[str, _Sight], version: int) -> set[str]:
        """Take a list, which was true at `version`; return the keys of which it is news."""
        news = {
            key
            for key, known in self._known.items()
            if key not in listed and known.version <= version
        }
        for key in news:
            del self._known[key]
        news |= {key for key, sight in listed.items() if self.put(key, sight)}
        # No answer is as late as two lists.
        self._gone = {key: at for key, at in self._gone.items() if at > self._listed_version}
        self._listed_version = version
        return news


class _Living(_Versioned, Protocol):
    @property
    def identity(self) -> Identity: ...

    @property
    def config_map(self) -> str: ...


_Resource = TypeVar("_Resource", bound=_Living)


class Living(Sights[_Resource]):
    """What is known of the resources of one kind, by the name of the ConfigMap concerned."""

    def __init__(self) -> None:
        super().__init__()
        self._uids: set[str] = set()

    def lives(self, uid: str | None) -> bool:
        """Say whether one of that uid exists."""
        return uid in self._uids

    def see(self, resource: _Resource) -> bool:
        """Take a sight of one; say whether it was news."""
        before = self.get(resource.config_map)
        if not self.put(resource.config_map, resource):
            return False
        if before is not None:
            self._uids.discard(before.identity.uid or "")
        self._uids.add(resource.identity.uid or "")
        return True

    def lose(self, resource: _Resource) -> bool:
        """Take it that one is gone; say whether that was news."""
        known = self.get(resource.config_map)
        if not self.drop(resource.config_map, resource.version):
            return False
        self._uids.discard((known or resource).identity.uid or "")
        return True

    def take_list(self, listed: Mapping[str, _Resource], version: int) -> set[str]:
        """Take a list of all, which was true at `version`; return the keys of which it is news."""
        news = super().take_list(listed, version)
        self._uids = {resource.identity.uid or "" for resource in self.values()}
        return news


class Store:
    """What is known of the cluster; everything goes by the name of the ConfigMap concerned."""

    def __init__(self) -> None:
        self.resources: Living[Resource] = Living()
        self.views: Living[ViewResource] = Living()
        self.knows_views = False
        """Whether views were ever listed: until then nobody can say which there are."""
        self.kind_is_older = False
        """Whether McpServers turned out to be of an older kind, since everything was listed."""
        self.config_maps: Sights[ConfigMap] = Sights()
        self.doubtful: set[str] = set()
        """Names under which something may lie that was not seen: look before you write."""

    def is_living(self, uid: str | None) -> bool:
        """Say whether a resource of that uid exists."""
        return self.resources.lives(uid) or self.views.lives(uid)

    def is_wanted(self, key: str) -> bool:
        """Say whether there is a resource that is published under that name."""
        return self.resources.get(key) is not None or self.views.get(key) is not None

    def neighbours(self, namespace: str | None) -> dict[str, Mapping[str, str]]:
        """Return the labels of every McpServer of a namespace, by name."""
        return {
            resource.identity.name: resource.labels
            for resource in self.resources.values()
            if resource.identity.namespace == namespace
        }
