"""What the files of a folder publish, kept in force while they change."""

from collections.abc import Iterable
from pathlib import Path

from pointsman import notices
from pointsman.folder import Folder, Look
from pointsman.judgement import Judgement, judge
from pointsman.notices import Notice
from pointsman_contract.view import ViewMeta
from pointsman_mirror import layout
from pointsman_mirror.disk import Directory, NotWritten
from pointsman_mirror.layout import Generation, Published
from pointsman_operator import manifests, viewmanifests
from pointsman_operator.spec import Server


def generation(servers: Iterable[Server], views: Iterable[ViewMeta] = ()) -> Generation:
    """Return what readers shall see of `servers` and `views`."""
    return layout.build(
        (*(_server(server) for server in servers), *(_view(view) for view in views))
    )


def _server(server: Server) -> Published:
    return Published(
        object_name=server.id,
        namespace=server.identity.namespace,
        name=server.identity.name,
        document=manifests.document_of(server),
    )


def _view(view: ViewMeta) -> Published:
    return Published(
        object_name=view.id,
        namespace=view.namespace,
        name=view.name,
        document=viewmanifests.document_of(view),
        is_view=True,
    )


class Publication:
    """A folder of files on one side, the directory that a router reads on the other."""

    def __init__(self, folder: Path, directory: Path) -> None:
        self._folder = Folder(folder)
        self._directory = Directory(directory)
        self._look: Look | None = None
        self._judgement = Judgement((), {})
        self._trouble: str | None = None

    def refresh(self) -> tuple[Notice, ...]:
        """Put in force what the files say now; return what there is to say about it."""
        look = self._folder.look()
        if look == self._look and self._trouble is None:
            return ()
        before, self._look = self._look, look
        judgement = judge(look.files, self._judgement.register)
        said = [
            *self._publish(judgement),
            *([Notice(look.fault, False)] if look.fault and look != before else []),
            *(notices.changed(before.files, look.files) if before else ()),
            *notices.wrong(self._judgement.verdicts, judgement.verdicts, look.files),
        ]
        self._judgement = judgement
        return tuple(said)

    def _publish(self, judgement: Judgement) -> Iterable[Notice]:
        before, self._trouble = self._trouble, None
        try:
            self._directory.publish(generation(judgement.accepted, judgement.views))
        except NotWritten as exc:
            self._trouble = f"not published, so what was published before stays in force: {exc}"
        if self._trouble and self._trouble != before:
            yield Notice(self._trouble, is_good=False)
