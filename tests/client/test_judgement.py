"""Who of several servers in files is published."""

from pathlib import Path

from client.command import good, view
from pointsman import folder
from pointsman.judgement import File, Judgement, judge
from pointsman.verdicts import Outcome


def file(path: Path, name: str, text: str) -> File:
    where = path / name
    where.write_text(text)
    return folder.read(where)


def published(judgement: Judgement) -> list[str]:
    return [server.id for server in judgement.accepted]


def test_the_first_file_has_the_prefix_that_two_want(tmp_path: Path) -> None:
    late, early = file(tmp_path, "a.yaml", good("x-y")), file(tmp_path, "b.yaml", good("x--y"))

    assert published(judge([early, late])) == ["x--y"]
    assert published(judge([late, early])) == ["x-y"]


def test_a_prefix_stays_with_its_holder_when_an_earlier_file_wants_it(tmp_path: Path) -> None:
    holder = file(tmp_path, "b.yaml", good("x--y"))
    before = judge([holder])

    after = judge([file(tmp_path, "a.yaml", good("x-y")), holder], before.register)

    assert published(after) == ["x--y"]
    assert after.verdicts[0].outcome is Outcome.PREFIX_CONFLICT


def test_a_prefix_is_free_as_soon_as_its_holder_is_gone(tmp_path: Path) -> None:
    holder, heir = file(tmp_path, "a.yaml", good("x-y")), file(tmp_path, "b.yaml", good("x--y"))
    before = judge([holder, heir])

    after = judge([heir], before.register)

    assert published(before) == ["x-y"]
    assert published(after) == ["x--y"]


def test_an_invalid_server_takes_no_prefix_from_a_valid_one(tmp_path: Path) -> None:
    invalid = file(tmp_path, "a.yaml", good("x-y", url="ftp://127.0.0.1/"))
    valid = file(tmp_path, "b.yaml", good("x--y"))

    assert published(judge([invalid, valid])) == ["x--y"]


def test_of_two_files_that_describe_one_server_the_first_counts(tmp_path: Path) -> None:
    first = file(tmp_path, "a.yaml", good("x", url="http://127.0.0.1:1/mcp"))
    second = file(tmp_path, "b.yaml", good("x", url="http://127.0.0.1:2/mcp"))

    judgement = judge([first, second])

    assert [server.url for server in judgement.accepted] == ["http://127.0.0.1:1/mcp"]
    assert [verdict.outcome for verdict in judgement.verdicts] == ["Accepted", "Duplicate"]


def labelled(name: str, labels: str, namespace: str | None = None) -> str:
    within = f"  namespace: {namespace}\n" if namespace else ""
    return good(name).replace("spec:\n", f"  labels: {labels}\n{within}spec:\n")


def test_a_view_selects_among_the_servers_of_the_files_in_its_namespace(tmp_path: Path) -> None:
    texts = [
        labelled("one", "{team: support}"),
        labelled("two", "{team: sales}"),
        labelled("far", "{team: support}", "elsewhere"),
        view("desk", "{selector: {matchLabels: {team: support}}}"),
    ]

    judgement = judge([file(tmp_path, "all.yaml", "---\n".join(texts))])

    assert [(each.id, each.servers) for each in judgement.views] == [("desk", ("one",))]


def test_a_view_that_is_refused_is_not_published(tmp_path: Path) -> None:
    texts = [view("desk"), view("desk", "{selector: {}}"), view("wrong", "{}")]

    judgement = judge([file(tmp_path, "all.yaml", "---\n".join(texts))])

    assert [(each.id, each.servers) for each in judgement.views] == [("desk", ("one",))]
    assert [verdict.outcome for verdict in judgement.verdicts] == [
        *("Accepted", "Duplicate", "InvalidSpec"),
    ]


def test_of_more_servers_than_a_view_holds_none_is_published(tmp_path: Path) -> None:
    texts = [good(f"s{number}") for number in range(501)] + [view("all", "{selector: {}}")]

    judgement = judge([file(tmp_path, "all.yaml", "---\n".join(texts))])

    assert judgement.views == ()
    assert judgement.verdicts[-1].outcome is Outcome.TOO_LARGE
