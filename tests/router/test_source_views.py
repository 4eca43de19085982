"""What of a directory is a view, and which views stay in force, whatever lies there next."""

import json
import logging
from pathlib import Path

import pytest

from bench.directories import (
    Follower,
    Mount,
    document,
    generation,
    lay,
    lay_view,
    reason,
    served,
)
from pointsman_contract.report import ServerReason
from pointsman_mirror.disk import Directory
from pointsman_mirror.layout import Published, build
from pointsman_router.reading import ViewEntry
from pointsman_router.registry import NamedView
from pointsman_router.source import Source

GOOD = document()


def said(**members: object) -> bytes:
    return json.dumps({"servers": ["github"], "tools": ["*"], **members}).encode()


def patterns(named: NamedView) -> tuple[str, ...]:
    assert named.meta
    return named.meta.tools


def test_a_folder_with_a_view_is_a_view_and_no_server(tmp_path: Path) -> None:
    lay(tmp_path, "github")
    lay_view(tmp_path, "support", servers=["github"], tools=["github.*"])
    registry = Follower(tmp_path).look()

    assert served(registry) == set(registry.servers) == {"github"}
    assert list(registry.views) == ["support"]
    assert patterns(registry.views["support"]) == ("github.*",)
    assert (registry.views["support"].skip, registry.views["support"].fault) == (None, None)


def test_a_generation_of_the_real_mirror_is_read_with_its_views(tmp_path: Path) -> None:
    directory = Directory(tmp_path)
    server = Published("a", "tools", "github", document(name="github", namespace="tools").decode())
    text = said(name="support", namespace="tools").decode()
    view = Published("b", "tools", "support", text, is_view=True)
    directory.publish(build([server, view]))
    follower = Follower(tmp_path)
    both = follower.look()
    directory.publish(build([server]))
    without = follower.look()

    assert served(both) == served(without) == {"tools/github"}
    assert both.fault is without.fault is None
    assert list(both.views) == ["tools/support"]
    assert without.views == {}


def test_a_directory_with_views_alone_has_no_server_and_echoes(tmp_path: Path) -> None:
    lay_view(tmp_path, "support", servers=["github"])
    lay_view(tmp_path, "broken", b"{")
    registry = Follower(tmp_path).look()

    assert registry.echo
    assert sorted(registry.views) == ["broken", "support"]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "view.json: the file"),
        (b"{", "view.json: the file"),
        (b"[]", "view.json: the file holds no JSON object"),
        (said(tools="*"), "view.json: tools: must be a list"),
        (said(tools=["a*b"]), "view.json: tools[0]: must match"),
        (said(name="a.b"), "view.json: name must be a DNS label"),
        (said(schemaVersion=2), "view.json: schemaVersion: "),
        (said(tools=["x" * 300_000]), "view.json: the file"),
    ],
    ids=[
        *("empty", "half", "a list", "a text for a list", "a star within", "a dotted name"),
        *("a newer schema", "too large"),
    ],
)
def test_a_bad_file_leaves_the_last_good_view_in_force_and_others_alone(
    content: bytes, what: str, tmp_path: Path
) -> None:
    lay(tmp_path, "github")
    lay_view(tmp_path, "support", said(tools=["github.*"]))
    lay_view(tmp_path, "other", said())
    follower = Follower(tmp_path)
    follower.look()
    lay_view(tmp_path, "support", content)
    lay_view(tmp_path, "never", content)
    registry = follower.look()

    held, never = registry.views["support"], registry.views["never"]
    assert patterns(held) == ("github.*",)
    assert held.fault
    assert held.fault.startswith(what)
    assert "last good view" in held.fault
    assert never.meta is None
    assert never.skip
    assert never.skip.startswith(what)
    assert registry.views["other"] == NamedView("other", registry.views["other"].meta)
    assert served(registry) == {"github"}

    lay_view(tmp_path, "support", said(tools=["*"]))
    assert follower.look().views["support"].fault is None


def test_a_view_whose_file_is_gone_is_held_and_one_whose_folder_is_gone_was_removed(
    tmp_path: Path,
) -> None:
    lay(tmp_path, "github")
    held, removed = lay_view(tmp_path, "held", said()), lay_view(tmp_path, "removed", said())
    follower = Follower(tmp_path)
    follower.look()
    held.unlink()
    removed.unlink()
    removed.parent.rmdir()
    registry = follower.look()

    assert list(registry.views) == ["held"]
    assert registry.views["held"].meta
    assert registry.views["held"].fault


def test_a_view_missing_from_a_complete_generation_was_removed(tmp_path: Path) -> None:
    generation(tmp_path, {"tools.a": GOOD}, views={"tools.v.view": said(name="v")})
    follower = Follower(tmp_path)
    first = follower.look()
    generation(tmp_path, {"tools.a": GOOD}, views={})
    second = follower.look()
    generation(tmp_path, {}, views={"tools.v.view": said(name="v")})
    third = follower.look()

    assert list(first.views) == ["v"]
    assert second.views == {}
    assert third.servers == {}
    assert third.echo
    assert list(third.views) == ["v"]


def test_a_generation_from_before_there_were_views_is_complete(tmp_path: Path) -> None:
    generation(tmp_path, {"tools.a": GOOD}, b'{"servers": 1}')

    assert served(Follower(tmp_path).look()) == {"tools.a"}


def test_a_generation_that_lacks_views_holds_all_that_was(tmp_path: Path) -> None:
    generation(tmp_path, {"tools.a": GOOD}, views={"tools.v.view": said(name="v")})
    follower = Follower(tmp_path)
    follower.look()
    generation(tmp_path, {"tools.a": GOOD}, b'{"servers": 1, "views": 1}')
    held = follower.look()

    assert list(held.views) == ["v"]
    assert held.fault
    assert "1 servers and 1 views" in held.fault


def test_an_empty_directory_after_one_with_views_holds_them(tmp_path: Path) -> None:
    path = lay_view(tmp_path, "support", said())
    follower = Follower(tmp_path)
    follower.look()
    path.unlink()
    path.parent.rmdir()
    held = follower.look()

    assert list(held.views) == ["support"]
    assert held.fault


def test_a_folder_that_holds_both_is_neither_and_says_so(tmp_path: Path) -> None:
    lay(tmp_path, "other")
    lay(tmp_path, "both")
    lay_view(tmp_path, "both", said())
    registry = Follower(tmp_path).look()

    assert registry.views == {}
    assert served(registry) == {"other"}
    assert reason(registry.servers["both"]) is ServerReason.INVALID_META
    skip = registry.servers["both"].skip
    assert skip
    assert "meta.json and view.json" in skip.message


def test_a_folder_that_holds_both_now_stays_what_it_was(tmp_path: Path) -> None:
    lay(tmp_path, "server")
    lay_view(tmp_path, "view", said())
    follower = Follower(tmp_path)
    follower.look()
    lay_view(tmp_path, "server", said())
    lay(tmp_path, "view")
    registry = follower.look()

    assert served(registry) == {"server"}
    assert registry.servers["server"].fault
    assert list(registry.views) == ["view"]
    assert registry.views["view"].fault


def test_a_folder_may_become_the_other_kind_even_by_a_rename_of_its_file(tmp_path: Path) -> None:
    lay(tmp_path, "other")
    path = lay(tmp_path, "folder", said(url="http://upstream.example/"))
    follower = Follower(tmp_path)
    first = follower.look()
    path.rename(path.with_name("view.json"))
    second = follower.look()

    assert set(first.servers) == {"folder", "other"}
    assert set(second.servers) == {"other"}
    assert list(second.views) == ["folder"]
    assert patterns(second.views["folder"]) == ("*",)


def test_a_view_that_is_no_plain_file_is_not_followed(tmp_path: Path) -> None:
    outside = lay_view(tmp_path / "outside", "evil", said())
    directory = tmp_path / "servers"
    (directory / "linked").mkdir(parents=True)
    (directory / "linked" / "view.json").symlink_to(outside)
    (directory / "folder" / "view.json").mkdir(parents=True)
    registry = Follower(directory).look()

    assert registry.servers == {}
    assert {id_: view.meta for id_, view in registry.views.items()} == {
        "folder": None,
        "linked": None,
    }


def test_two_views_of_one_name_are_both_empty(tmp_path: Path) -> None:
    lay_view(tmp_path, "a", said(name="support", namespace="tools"))
    lay_view(tmp_path, "b", said(name="support", namespace="tools"))
    lay(tmp_path, "c", name="support", namespace="tools")
    registry = Follower(tmp_path).look()

    named = registry.views["tools/support"]
    assert named.meta is None
    assert named.skip
    assert "a and b" in named.skip
    assert served(registry) == {"tools/support"}


def test_a_view_that_needs_a_newer_router_is_empty_and_known(tmp_path: Path) -> None:
    lay_view(tmp_path, "support", said(requires=["moods"], uid="u-1", generation=4))
    named = Follower(tmp_path).look().views["support"]

    assert named.skip == "requires: this router does not know moods; upgrade the router"
    assert named.meta
    assert (named.meta.uid, named.meta.generation) == ("u-1", 4)


@pytest.mark.parametrize(
    ("folder", "id_"), [("tools.support.view", "tools/support"), ("support..view", "support..view")]
)
def test_a_mirrored_view_that_never_was_good_is_known_by_its_folder(
    folder: str, id_: str, tmp_path: Path
) -> None:
    generation(tmp_path, {}, views={folder: b"{"})

    assert list(Follower(tmp_path).look().views) == [id_]


def test_a_mounted_config_map_of_a_view_is_read_through_its_link(tmp_path: Path) -> None:
    mount = Mount(tmp_path / "support")
    mount.write({"view.json": said(tools=["a"])})
    follower = Follower(tmp_path)
    first = follower.look()
    mount.write({"view.json": said(tools=["b"])})
    second = follower.look()

    assert patterns(first.views["support"]) == ("a",)
    assert patterns(second.views["support"]) == ("b",)


async def test_a_view_that_changes_is_a_new_reading_and_its_fault_is_logged_as_a_views(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = Source(str(tmp_path), link_poll_s=0.01, files_poll_s=0.01)
    lay_view(tmp_path, "support", said())
    first = await source.next()
    lay_view(tmp_path, "support", b"{")
    second = await source.next()

    good = first.views["support"]
    assert second.views == {
        "support": ViewEntry("support", good.view, second.views["support"].fault)
    }
    assert caplog.messages == ["a view's file is not in force"]
    assert (caplog.records[0].levelno, vars(caplog.records[0])["view"]) == (
        logging.WARNING,
        "support",
    )
