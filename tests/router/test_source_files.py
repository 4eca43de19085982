"""What wrong and unusual meta.json files get: the rows M about content."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.directories import URL, Follower, document, lay, reason, served
from pointsman_contract import meta
from pointsman_contract.meta import MAX_BYTES
from pointsman_contract.report import ServerReason
from pointsman_router.metafiles import MetaFiles

GOOD = document()


BAD_CONTENTS = [
    pytest.param(b"", id="M01-empty"),
    pytest.param(b"null", id="M01-null"),
    pytest.param(b"[]", id="M01-array"),
    pytest.param(b'"x"', id="M01-string"),
    pytest.param(b"url: x", id="M01-yaml"),
    pytest.param(b"\xef\xbb\xbf" + GOOD, id="M03-byte-order-mark"),
    pytest.param(GOOD.decode().encode("utf-16"), id="M03-utf-16"),
    pytest.param(document(name="x").replace(b'"x"', b'"\xe9"'), id="M03-latin-1"),
    pytest.param(GOOD + b"\x00", id="M03-nul"),
    pytest.param(b'{"url": "http://up/", "allowedTools": [], "allowedTools": ["*"]}', id="M04"),
    pytest.param(document(schemaVersion=2), id="M06-major-version"),
    pytest.param(GOOD.replace(b"{", b'{"timeoutSeconds": NaN, '), id="M07-NaN"),
    pytest.param(GOOD.replace(b"{", b'{"x": Infinity, '), id="M07-Infinity"),
    pytest.param(GOOD.replace(b"{", b'{"x": 1e400, '), id="M07-1e400"),
    pytest.param(b'{"x": ' + b"[" * 10_000 + b"]" * 10_000 + b"}", id="M08-depth"),
    pytest.param(document(x="a" * (MAX_BYTES + 1024)), id="M08-size"),
    pytest.param(document(allowedTools="*"), id="M18b-string"),
    pytest.param(document(allowedTools={}), id="M18b-object"),
    pytest.param(document(allowedTools=[1]), id="M18b-number"),
    pytest.param(document(prefix="My-Srv"), id="M31-prefix"),
    pytest.param(document(timeoutSeconds=0), id="M31-timeout"),
]


@pytest.mark.parametrize("content", BAD_CONTENTS)
def test_a_bad_file_leaves_the_last_good_one_in_force_and_others_alone(
    content: bytes, tmp_path: Path
) -> None:
    lay(tmp_path, "github", url=f"{URL}/1")
    lay(tmp_path, "other")
    follower = Follower(tmp_path)
    follower.look()
    lay(tmp_path, "github", content)
    lay(tmp_path, "other", url=f"{URL}/2")
    registry = follower.look()

    github = registry.servers["github"]
    assert github.meta
    assert github.meta.url == f"{URL}/1"
    assert github.fault
    assert registry.targets["other"].url == f"{URL}/2"
    assert registry.fault is None


@pytest.mark.parametrize("content", BAD_CONTENTS)
def test_a_bad_file_that_never_was_good_exposes_nothing_and_stops_the_echo(
    content: bytes, tmp_path: Path
) -> None:
    lay(tmp_path, "github", content)
    registry = Follower(tmp_path).look()

    assert reason(registry.servers["github"]) is ServerReason.INVALID_META
    assert not registry.targets
    assert not registry.echo


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"prefix": "My-Srv"}, ["prefix", "32"]),
        ({"timeoutSeconds": 0}, ["timeoutSeconds", "1"]),
        ({"timeoutSeconds": 301}, ["timeoutSeconds", "300"]),
        ({"allowedTools": "*"}, ["allowedTools", "list"]),
    ],
    ids=["M31-prefix", "M31-timeout-low", "M31-timeout-high", "M18b"],
)
def test_a_bad_field_is_named_with_what_it_must_be(
    members: dict[str, Any], words: list[str], tmp_path: Path
) -> None:
    lay(tmp_path, "github", **members)
    skip = Follower(tmp_path).look().servers["github"].skip

    assert skip
    assert all(word in skip.message for word in words)


def test_m02_no_file_cut_short_is_ever_believed(tmp_path: Path) -> None:
    whole = document(name="github", namespace="tools")
    lay(tmp_path, "github", whole)
    follower = Follower(tmp_path)
    follower.look()
    for length in range(whole.rindex(b"}")):
        lay(tmp_path, "github", whole[:length])
        server = follower.look().servers["tools/github"]

        assert server.fault
        assert server.meta


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        pytest.param({"AllowedTools": ["*"], "allowedTools": []}, "NoToolsAllowed", id="M05"),
        pytest.param({"somethingNew": {"x": 1}}, None, id="M06-unknown-field"),
        pytest.param({"url": "http://user:pw@up.example/"}, "InvalidUrl", id="M10-U05"),
        pytest.param({"url": "ftp://up.example/"}, "InvalidUrl", id="M10-U02"),
        pytest.param({"url": "http://up.example/#x"}, "InvalidUrl", id="M10-fragment"),
        pytest.param({"allowedTools": None}, "NoToolsAllowed", id="M18a-null"),
        pytest.param({"allowedTools": []}, "NoToolsAllowed", id="M18a-empty"),
        pytest.param({"url": ""}, "NoUrl", id="M22-empty"),
        pytest.param({"url": None}, "NoUrl", id="M22-null"),
        pytest.param({"requires": ["from-the-future"]}, "NeedsNewerRouter", id="M23"),
        pytest.param({"issuer": "https://id.example"}, "OAuthUnsupported", id="M24-issuer"),
        pytest.param({"bearerFromEnv": "TOKEN"}, "CredentialUnsupported", id="M24-bearer"),
        pytest.param({"issuer": "", "bearerFromEnv": ""}, None, id="M24-both-empty"),
        pytest.param({"suspend": True}, "Suspended", id="suspended"),
    ],
)
def test_a_valid_file_is_taken_or_left_out_with_its_reason(
    members: dict[str, Any], expected: str | None, tmp_path: Path
) -> None:
    lay(tmp_path, "github", **members)
    registry = Follower(tmp_path).look()

    assert reason(registry.servers["github"]) == expected
    assert served(registry) == (set() if expected else {"github"})


def test_m18a_missing_allowed_tools_expose_nothing_at_once(tmp_path: Path) -> None:
    lay(tmp_path, "github")
    follower = Follower(tmp_path)
    follower.look()
    lay(tmp_path, "github", b'{"url": "http://up.example/"}')

    assert reason(follower.look().servers["github"]) is ServerReason.NO_TOOLS_ALLOWED


def test_m09_the_files_own_name_counts_and_the_folders_is_the_default(tmp_path: Path) -> None:
    lay(tmp_path, "one", name="stated", namespace="tools")
    lay(tmp_path, "two")
    registry = Follower(tmp_path).look()

    assert list(registry.servers) == ["tools/stated", "two"]


def test_m11_two_files_with_one_prefix_are_both_left_out(tmp_path: Path) -> None:
    lay(tmp_path, "one", prefix="shared")
    lay(tmp_path, "two", prefix="shared")
    lay(tmp_path, "three")
    registry = Follower(tmp_path).look()

    assert reason(registry.servers["one"]) is ServerReason.PREFIX_CONFLICT
    assert reason(registry.servers["two"]) is ServerReason.PREFIX_CONFLICT
    assert served(registry) == {"three"}


def test_m12_a_generation_that_goes_back_is_taken(tmp_path: Path) -> None:
    lay(tmp_path, "github", generation=7)
    follower = Follower(tmp_path)
    follower.look()
    lay(tmp_path, "github", generation=3, url=f"{URL}/restored")
    server = follower.look().servers["github"]

    assert server.meta
    assert (server.meta.generation, server.meta.url) == (3, f"{URL}/restored")


def test_f87_a_file_written_in_two_halves_is_believed_only_when_whole(tmp_path: Path) -> None:
    before, after = document(url=f"{URL}/1"), document(url=f"{URL}/2")
    path = lay(tmp_path, "github", before)
    follower = Follower(tmp_path)
    seen = [follower.look().targets["github"].url]
    with path.open("wb") as file:
        file.write(after[: len(after) // 2])
        file.flush()
        half = follower.look()
        file.write(after[len(after) // 2 :])
    seen += [half.targets["github"].url, follower.look().targets["github"].url]

    assert half.servers["github"].fault
    assert seen == [f"{URL}/1", f"{URL}/1", f"{URL}/2"]


def test_an_edit_of_equal_length_is_seen(tmp_path: Path) -> None:
    follower = Follower(tmp_path)
    for number in range(50):
        lay(tmp_path, "github", url=f"{URL}/{number:02}")

        assert follower.look().targets["github"].url == f"{URL}/{number:02}"


def test_bytes_that_did_not_change_are_not_parsed_again(tmp_path: Path) -> None:
    lay(tmp_path, "github")
    follower = Follower(tmp_path)
    before = follower.look().servers["github"].meta
    lay(tmp_path, "github")
    after = follower.look().servers["github"].meta

    assert before is after


def test_a_file_at_rest_is_not_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[object] = []
    really_open = os.open

    def recorded(path: str, *arguments: Any, **named: Any) -> int:
        opened.append(path)
        return really_open(path, *arguments, **named)

    lay(tmp_path, "github")
    files = MetaFiles(str(tmp_path), restless_ns=0)
    monkeypatch.setattr(os, "open", recorded)
    first, second = files.look(), files.look()

    assert first == second
    assert opened.count("meta.json") == 1


@pytest.mark.parametrize(
    "folder", [b"\xff\xfe", b"bell\x07", b"two\nlines", b"\x1b[31mred"], ids=repr
)
def test_a_folder_of_any_name_can_be_reported(folder: bytes, tmp_path: Path) -> None:
    lay(tmp_path, os.fsdecode(folder), b"{")
    lay(tmp_path, "good")
    registry = Follower(tmp_path).look()

    assert served(registry) == {"good"}
    assert len(registry.servers) == 2
    for server in registry.servers.values():
        assert server.id.isprintable()
        assert server.id.encode()


def test_a_mistake_of_ours_about_one_file_costs_that_server_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    load = meta.load

    def stumbles(data: bytes, *, folder: str) -> meta.Meta:
        if folder == "unlucky":
            raise RuntimeError("a mistake of ours")
        return load(data, folder=folder)

    monkeypatch.setattr(meta, "load", stumbles)
    lay(tmp_path, "unlucky")
    lay(tmp_path, "good")
    registry = Follower(tmp_path).look()

    assert served(registry) == {"good"}
    assert reason(registry.servers["unlucky"]) == ServerReason.INVALID_META
    assert [vars(record)["folder"] for record in caplog.records] == ["unlucky"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(content=st.binary(max_size=400) | st.text().map(str.encode))
def test_generated_bytes_are_a_meta_or_a_fault(content: bytes, tmp_path: Path) -> None:
    lay(tmp_path, "generated", content)
    lay(tmp_path, "good")
    registry = Follower(tmp_path).look()

    assert "good" in registry.targets
    assert registry.servers["generated"].skip
