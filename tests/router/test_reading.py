"""What stays in force, whatever the directory looks like next."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman_contract import meta
from pointsman_contract.meta import Meta
from pointsman_contract.view import ViewMeta
from pointsman_router.reading import (
    Absent,
    Bad,
    Broken,
    Entry,
    File,
    Folders,
    Good,
    GoodView,
    Reading,
    Seen,
    ViewEntry,
    settle,
)


def _meta(name: str, generation: int = 1) -> Meta:
    return meta.load(b'{"url": "http://up/", "generation": %d}' % generation, folder=name)


A, B = _meta("a"), _meta("b")
A_AND_B = Reading({"a": Entry("a", A), "b": Entry("b", B)}, None, loaded=True)
NOTHING_YET = Reading()
NO_SERVERS = Reading({}, None, loaded=True)


@pytest.mark.parametrize(
    ("before", "seen", "in_force"),
    [
        pytest.param(
            A_AND_B, Folders({"a": Good(A)}, complete=True), {"a": A}, id="complete-lacks-a-server"
        ),
        pytest.param(A_AND_B, Folders({}, complete=True), {}, id="complete-lacks-every-server"),
        pytest.param(
            A_AND_B, Broken("no .complete"), {"a": A, "b": B}, id="generation-without-complete"
        ),
        pytest.param(
            A_AND_B, Folders({}, complete=False), {"a": A, "b": B}, id="empty-after-a-good-set"
        ),
        pytest.param(A_AND_B, Broken("EACCES"), {"a": A, "b": B}, id="unreadable-after-a-good-set"),
        pytest.param(A_AND_B, Broken("dangles"), {"a": A, "b": B}, id="dangling-link"),
        pytest.param(
            A_AND_B, Folders({"a": Good(A)}, complete=False), {"a": A}, id="plain-folder-gone"
        ),
        pytest.param(
            A_AND_B,
            Folders({"a": Good(A), "b": Absent("gone")}, complete=False),
            {"a": A, "b": B},
            id="plain-folder-there-file-gone",
        ),
        pytest.param(
            A_AND_B,
            Folders({"a": Bad("half"), "b": Good(B)}, complete=False),
            {"a": A, "b": B},
            id="good-file-gone-bad",
        ),
        pytest.param(
            A_AND_B,
            Folders({"b": Bad("half")}, complete=False),
            {"b": B},
            id="one-removed-the-other-bad",
        ),
        pytest.param(
            A_AND_B,
            Folders({"a": Absent("gone"), "b": Absent("gone")}, complete=False),
            {"a": A, "b": B},
            id="every-file-gone-folders-there",
        ),
        pytest.param(NOTHING_YET, Folders({}, complete=False), {}, id="empty-at-the-start"),
        pytest.param(NOTHING_YET, Broken("ENOENT"), {}, id="absent-at-the-start"),
        pytest.param(NO_SERVERS, Broken("ENOENT"), {}, id="absent-after-an-empty-set"),
        pytest.param(
            NOTHING_YET,
            Folders({"notes": Absent("missing")}, complete=False),
            {},
            id="folder-that-never-had-a-file",
        ),
        pytest.param(
            NOTHING_YET, Folders({"a": Bad("half")}, complete=False), {"a": None}, id="never-good"
        ),
        pytest.param(
            A_AND_B,
            Folders({"a": Good(_meta("a", 0)), "b": Good(B)}, complete=True),
            {"a": _meta("a", 0), "b": B},
            id="M12-generation-goes-back",
        ),
    ],
)
def test_each_absence_means_one_thing(
    before: Reading, seen: Seen, in_force: dict[str, Meta | None]
) -> None:
    after = settle(before, seen)

    assert {folder: entry.meta for folder, entry in after.entries.items()} == in_force


@pytest.mark.parametrize(
    ("before", "seen", "fault", "loaded"),
    [
        pytest.param(A_AND_B, Broken("why"), "why", True, id="held-set"),
        pytest.param(NOTHING_YET, Broken("why"), "why", False, id="no-set-yet"),
        pytest.param(NO_SERVERS, Folders({}, complete=False), None, True, id="still-no-servers"),
        pytest.param(
            Reading(A_AND_B.entries, "why", loaded=True),
            Folders({"a": Good(A)}, complete=True),
            None,
            True,
            id="healed",
        ),
    ],
)
def test_the_fault_of_the_set_is_there_exactly_while_it_lasts(
    before: Reading, seen: Seen, fault: str | None, loaded: bool
) -> None:
    after = settle(before, seen)

    assert (after.fault, after.loaded) == (fault, loaded)


def test_an_empty_directory_says_why_the_last_good_servers_are_held() -> None:
    after = settle(A_AND_B, Folders({}, complete=False))

    assert after.fault
    assert "empty" in after.fault


def test_a_held_server_carries_its_fault_and_sheds_it_when_its_file_is_good_again() -> None:
    bad = settle(A_AND_B, Folders({"a": Bad("half"), "b": Good(B)}, complete=False))
    good = settle(bad, Folders({"a": Good(A), "b": Good(B)}, complete=False))

    assert bad.entries["a"] == Entry("a", A, "half")
    assert bad.entries["b"].fault is None
    assert good == A_AND_B


@pytest.mark.parametrize(
    ("folder", "complete", "id_"),
    [
        ("tools.github", True, "tools/github"),
        ("tools.github", False, "tools.github"),
        ("github", True, "github"),
        ("a.b.c", True, "a.b.c"),
        ("bell\x07", False, "bell·"),
        ("\udcff", False, "·"),
    ],
    ids=["mirrored", "hand-made", "without-namespace", "two-dots", "control", "not-UTF-8"],
)
def test_a_server_whose_file_never_was_good_is_known_by_its_folder(
    folder: str, complete: bool, id_: str
) -> None:
    after = settle(NOTHING_YET, Folders({folder: Bad("half")}, complete))

    assert after.entries[folder].id == id_


V = ViewMeta(name="v")
VIEW = Reading({}, None, loaded=True, views={"v": ViewEntry("v", V)})


@pytest.mark.parametrize(
    ("before", "seen", "in_force"),
    [
        pytest.param(VIEW, Folders({}, complete=True), {}, id="complete-lacks-the-view"),
        pytest.param(VIEW, Folders({}, complete=False), {"v": V}, id="empty-after-a-view"),
        pytest.param(VIEW, Broken("why"), {"v": V}, id="unreadable-after-a-view"),
        pytest.param(
            VIEW, Folders({"v": Bad("half", of_view=True)}, complete=True), {"v": V}, id="gone-bad"
        ),
        pytest.param(VIEW, Folders({"v": Bad("both")}, complete=True), {"v": V}, id="both-now"),
        pytest.param(VIEW, Folders({"v": Absent("gone")}, complete=True), {"v": V}, id="file-gone"),
        pytest.param(VIEW, Folders({"v": Good(A)}, complete=True), {}, id="a-server-now"),
        pytest.param(VIEW, Folders({"a": Good(A)}, complete=False), {}, id="folder-gone"),
        pytest.param(
            NOTHING_YET,
            Folders({"v": Bad("half", of_view=True)}, complete=True),
            {"v": None},
            id="never-good",
        ),
        pytest.param(
            A_AND_B, Folders({"a": GoodView(V)}, complete=True), {"a": V}, id="a-view-now"
        ),
    ],
)
def test_each_absence_of_a_view_means_what_it_means_of_a_server(
    before: Reading, seen: Seen, in_force: dict[str, ViewMeta | None]
) -> None:
    after = settle(before, seen)

    assert {folder: entry.view for folder, entry in after.views.items()} == in_force
    assert not after.views.keys() & after.entries.keys()


_files: st.SearchStrategy[File] = st.one_of(
    st.sampled_from(["a", "b", "c"]).map(_meta).map(Good),
    st.sampled_from(["a", "b", "c"]).map(lambda name: GoodView(ViewMeta(name=name))),
    st.builds(Bad, st.just("bad"), of_view=st.booleans()),
    st.just(Absent("absent")),
)
_seen: st.SearchStrategy[Seen] = st.one_of(
    st.just(Broken("broken")),
    st.builds(
        Folders,
        st.dictionaries(st.sampled_from(["a", "b", "c"]), _files),
        complete=st.booleans(),
    ),
)


def good(reading: Reading) -> set[str]:
    """The folders of which a document is in force."""
    servers = {folder for folder, entry in reading.entries.items() if entry.meta}
    return servers | {folder for folder, entry in reading.views.items() if entry.view}


@given(st.lists(_seen, max_size=12))
def test_nothing_good_is_lost_but_what_was_removed_on_purpose(history: list[Seen]) -> None:
    before = Reading()
    for seen in history:
        after = settle(before, seen)

        lost = {folder for folder in good(before) if folder not in good(after)}
        assert not lost or isinstance(seen, Folders)
        if isinstance(seen, Folders):
            assert not lost & seen.files.keys()
            assert not lost or seen.complete or after.folders
            turned = {
                folder
                for folder in good(before) & good(after)
                if (folder in before.views) != (folder in after.views)
            }
            assert all(isinstance(seen.files[folder], Good | GoodView) for folder in turned)
        assert after.loaded or not before.loaded
        assert list(after.entries) == sorted(after.entries)
        assert list(after.views) == sorted(after.views)
        before = after


@given(st.lists(_seen, max_size=6), _seen)
def test_looking_twice_at_the_same_changes_nothing(history: list[Seen], seen: Seen) -> None:
    before = Reading()
    for earlier in history:
        before = settle(before, earlier)
    once = settle(before, seen)

    assert settle(once, seen) == once


@given(st.lists(_seen, max_size=8), _seen)
def test_a_good_look_is_believed_whatever_came_before(history: list[Seen], last: Seen) -> None:
    before = Reading()
    for earlier in history:
        before = settle(before, earlier)
    after = settle(before, last)

    if isinstance(last, Folders):
        for folder, file in last.files.items():
            if isinstance(file, Good):
                assert after.entries[folder] == Entry(file.meta.id, file.meta)
            if isinstance(file, GoodView):
                assert after.views[folder] == ViewEntry(file.view.id, file.view)
