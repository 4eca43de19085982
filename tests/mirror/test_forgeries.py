"""What labelled ConfigMaps by another writer can do to the directory: nothing."""

from pathlib import Path
from typing import Any

import pytest

from mirror import reader
from mirror.published import config_map, document
from pointsman_contract import labels
from pointsman_mirror import layout
from pointsman_mirror.disk import Directory
from pointsman_mirror.layout import Reason

EVIL = "http://evil.example/mcp"


def labelled(namespace: object, name: object, **data: str) -> dict[str, Any]:
    """An object with these labels, whatever they are, that the derived name does not protect."""
    body = config_map("x", "y", object_name="forged")
    found = body["metadata"]["labels"]
    for label, value in ((labels.SERVER_NAMESPACE, namespace), (labels.SERVER_NAME, name)):
        found.pop(label)
        if value is not None:
            found[label] = value
    body["data"] = data or {labels.DATA_KEY: document(str(namespace), str(name), url=EVIL)}
    return body


def keyed(*keys: str) -> dict[str, Any]:
    """An object for a server of its own whose keys lead elsewhere."""
    body = config_map("forged", "keys", object_name="forged")
    body["data"] |= dict.fromkeys(keys, EVIL)
    return body


LEFT_OUT = [
    pytest.param(labelled("a.b", "c"), id="a dot in the namespace"),
    pytest.param(labelled("a", "b.c"), id="a dot in the name"),
    pytest.param(labelled("..", "c"), id="the folder above as namespace"),
    pytest.param(labelled("a", ".."), id="the folder above as name"),
    pytest.param(labelled(".", "."), id="dots alone"),
    pytest.param(labelled("../../etc", "cron"), id="a way out in the namespace"),
    pytest.param(labelled("a", "../../../etc/cron"), id="a way out in the name"),
    pytest.param(labelled("/etc", "cron"), id="an absolute path"),
    pytest.param(labelled("a", "b/c"), id="a slash"),
    pytest.param(labelled("a", "b\\c"), id="a backslash"),
    pytest.param(labelled("", "github"), id="no namespace in the label"),
    pytest.param(labelled("tools", ""), id="no name in the label"),
    pytest.param(labelled(None, "github"), id="no namespace label"),
    pytest.param(labelled("tools", None), id="no name label"),
    pytest.param(labelled(7, "github"), id="a number for a label"),
    pytest.param(labelled("Tools", "github"), id="another case"),
    pytest.param(labelled("tools", "github\n"), id="a newline at the end"),
    pytest.param(labelled("tools", "git\x00hub"), id="a null character"),
    pytest.param(labelled("tools", "-github"), id="a hyphen in front"),
    pytest.param(labelled("tools", "github-"), id="a hyphen at the end"),
    pytest.param(labelled("tools", "g" * 64), id="64 characters"),
    pytest.param(labelled("tools", "github٣"), id="a digit beyond ASCII"),
    pytest.param(labelled(".gen-1", "x"), id="a generation as namespace"),
    pytest.param(labelled("tools", ".complete"), id="the mark of completion as name"),
    pytest.param(
        config_map("forged", "own", document("tools", "github", url=EVIL)),
        id="a document that names the server of another",
    ),
    pytest.param(
        config_map("tools", "github", object_name="forged", url=EVIL), id="the labels of another"
    ),
    pytest.param(
        config_map("tools", "github", "", object_name="aaa"), id="the labels, and no document"
    ),
]
KEPT_APART = [
    pytest.param(keyed("../github/meta.json"), id="a key that leads out of its folder"),
    pytest.param(keyed("../../.complete", ".complete"), id="the mark of completion as key"),
    pytest.param(keyed("..data", "tools.github"), id="the link as key"),
]


@pytest.mark.parametrize("forgery", LEFT_OUT)
def test_a_forged_object_is_left_out_and_named(forgery: dict[str, Any], tmp_path: Path) -> None:
    genuine = config_map("tools", "github")
    generation = layout.build(layout.from_config_map(body) for body in (forgery, genuine))
    (tmp_path / "servers").mkdir()
    Directory(tmp_path / "servers").publish(generation)

    assert reader.read(tmp_path / "servers") == {
        "tools.github": document("tools", "github").encode()
    }
    assert [item.object_name for item in generation.skipped] == [forgery["metadata"]["name"]]
    assert generation.skipped[0].reason in set(Reason)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["servers"]


@pytest.mark.parametrize("forgery", KEPT_APART)
def test_no_key_but_the_one_of_the_document_is_ever_written(
    forgery: dict[str, Any], tmp_path: Path
) -> None:
    genuine = config_map("tools", "github")
    generation = layout.build(layout.from_config_map(body) for body in (forgery, genuine))
    (tmp_path / "servers").mkdir()
    Directory(tmp_path / "servers").publish(generation)

    assert reader.read(tmp_path / "servers") == {
        "forged.keys": document("forged", "keys").encode(),
        "tools.github": document("tools", "github").encode(),
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["servers"]
    (generation_name,) = reader.generations(tmp_path / "servers")
    assert sorted(path.name for path in (tmp_path / "servers" / generation_name).rglob("*")) == [
        ".complete",
        "forged.keys",
        "meta.json",
        "meta.json",
        "tools.github",
    ]


def test_the_table_above_holds_thirty_forgeries() -> None:
    assert len(LEFT_OUT) + len(KEPT_APART) == 30
