"""Which servers are registered, and why nothing of some is exposed."""

import json
from typing import Any

import pytest

from bench.directories import reason
from pointsman_contract import meta
from pointsman_contract.meta import Protocol
from pointsman_contract.report import ServerReason
from pointsman_router import registry
from pointsman_router.reading import Entry, Reading
from pointsman_router.registry import Registry, Server, Target

HOST = "upstream.example"
URL = f"http://{HOST}:8080/mcp"


def entry(folder: str, fault: str | None = None, **members: Any) -> Entry:
    document = json.dumps({"url": URL, "allowedTools": ["*"], **members}).encode()
    parsed = meta.load(document, folder=folder)
    return Entry(parsed.id, parsed, fault)


def built(*entries: Entry, fault: str | None = None, loaded: bool = True) -> Registry:
    folders = {f"folder{number}": entry for number, entry in enumerate(entries)}
    return registry.build(Reading(folders, fault, loaded))


def message(server: Server) -> str:
    assert server.skip
    return server.skip.message


def test_a_valid_server_is_a_target_with_its_id_url_and_protocol() -> None:
    made = built(entry("github", namespace="tools", protocol="Modern"))

    assert made.targets == {"tools/github": Target("tools/github", URL, Protocol.MODERN)}
    assert made.servers["tools/github"].skip is None
    assert made.servers["tools/github"].fault is None


def test_servers_are_in_order_of_id_whatever_their_folders_order() -> None:
    made = built(entry("c"), entry("a"), entry("b"))

    assert list(made.servers) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("url", "what"),
    [
        pytest.param("ftp://upstream.example/", "http", id="U02"),
        pytest.param("http:///x", "host", id="U03"),
        pytest.param("http://user:hunter2@upstream.example/", "user name", id="U05"),
        pytest.param("http://upstream.example@169.254.169.254/", "user name", id="U06"),
        pytest.param("http://upstream.example\\@169.254.169.254/", "backslash", id="U07"),
        pytest.param(" http://upstream.example/", "http", id="U09-before"),
        pytest.param("http://upstream.example/a b", "ASCII", id="U09-inside"),
        pytest.param("http://upstream.example/\x00", "ASCII", id="U09-NUL"),
        pytest.param("http://127.1/", "decimal", id="U16-short"),
        pytest.param("http://0x7f.1/", "decimal", id="U16-hex"),
        pytest.param("http://upstream.example:0/", "port", id="U26-zero"),
        pytest.param("http://upstream.example:65536/", "port", id="U26-large"),
        pytest.param("http://upstream.example/" + "a" * 2048, "2048", id="U27"),
        pytest.param("http://[fe80::1%25eth0]/", "%", id="U28-zone"),
        pytest.param("http://[::1/", "IPv6", id="U28-bracket"),
        pytest.param("http://a..b/", "labels", id="U29-empty-label"),
        pytest.param("http://-a/", "labels", id="U29-hyphen"),
        pytest.param("http://xn--/", "labels", id="U29-punycode"),
        pytest.param("http://upstream.example/a/../b", "dot segment", id="U31"),
        pytest.param("http://upstream.example/#x", "fragment", id="fragment"),
        pytest.param("http://b\u00fccher.example/", "ASCII", id="U35"),
    ],
)
def test_m10_a_wrong_url_is_skipped_with_what_to_change_and_never_repeated(
    url: str, what: str
) -> None:
    made = built(entry("bad", url=url), entry("good"))

    assert reason(made.servers["bad"]) is ServerReason.INVALID_URL
    assert message(made.servers["bad"]).startswith("url: must")
    assert what in message(made.servers["bad"])
    assert HOST not in message(made.servers["bad"])
    assert "hunter2" not in message(made.servers["bad"])
    assert list(made.targets) == ["good"]


@pytest.mark.parametrize(
    "url",
    [
        "http://good.com",
        "http://10.0.0.5:8080/mcp",
        "https://[fd00::5]:8443/mcp",
        "https://xn--bcher-kva.example/mcp",
        "https://good.com/mcp?token=abc",
    ],
    ids=["host-alone", "address", "IPv6", "punycode", "U30-query"],
)
def test_u38_a_good_url_is_taken_as_it_is_written(url: str) -> None:
    assert built(entry("good", url=url)).targets["good"].url == url


@pytest.mark.parametrize(
    ("members", "expected", "field"),
    [
        ({"requires": ["pins"]}, ServerReason.NEEDS_NEWER_ROUTER, "requires"),
        ({"issuer": "https://id.example"}, ServerReason.OAUTH_UNSUPPORTED, "issuer"),
        ({"bearerFromEnv": "TOKEN"}, ServerReason.CREDENTIAL_UNSUPPORTED, "bearerFromEnv"),
        ({"url": ""}, ServerReason.NO_URL, "url"),
        ({"url": "ftp://x/"}, ServerReason.INVALID_URL, "url"),
        ({"suspend": True}, ServerReason.SUSPENDED, "suspend"),
        ({"allowedTools": []}, ServerReason.NO_TOOLS_ALLOWED, "allowedTools"),
        (
            {"requires": ["pins"], "issuer": "x", "url": "", "suspend": True, "allowedTools": []},
            ServerReason.NEEDS_NEWER_ROUTER,
            "requires",
        ),
        ({"url": "ftp://x/", "suspend": True}, ServerReason.INVALID_URL, "url"),
        ({"suspend": True, "allowedTools": []}, ServerReason.SUSPENDED, "suspend"),
    ],
    ids=[
        "requires",
        "issuer",
        "bearerFromEnv",
        "no-url",
        "bad-url",
        "suspended",
        "no-tools-allowed",
        "unknown-restriction-first",
        "invalid-before-suspended",
        "suspended-before-no-tools",
    ],
)
def test_a_skip_names_the_field_to_change_and_contacts_nobody(
    members: dict[str, Any], expected: ServerReason, field: str
) -> None:
    made = built(entry("github", **members))

    assert reason(made.servers["github"]) is expected
    assert message(made.servers["github"]).startswith(f"{field}: ")
    assert not made.targets


@pytest.mark.parametrize(
    "exposed",
    [["Prompts"], ["Tools", "Resources"]],
    ids=["prompts alone", "resources, and tools of which none is allowed"],
)
def test_a_server_without_allowed_tools_is_asked_for_what_else_it_exposes(
    exposed: list[str],
) -> None:
    made = built(entry("github", allowedTools=[], expose=exposed))

    assert made.servers["github"].skip is None
    assert made.targets["github"].exposes == set(exposed)


def test_a_text_of_the_file_is_shown_short_and_printable() -> None:
    made = built(entry("github", requires=["x\x1b[31m\n" + "y" * 500]))

    assert message(made.servers["github"]).isprintable()
    assert len(message(made.servers["github"])) < 300


def test_m11_both_of_two_with_one_prefix_are_left_out_each_naming_the_other() -> None:
    made = built(entry("one", prefix="same"), entry("two", prefix="same"), entry("three"))

    assert reason(made.servers["one"]) is ServerReason.PREFIX_CONFLICT
    assert reason(made.servers["two"]) is ServerReason.PREFIX_CONFLICT
    assert "two" in message(made.servers["one"])
    assert "one" in message(made.servers["two"])
    assert list(made.targets) == ["three"]


@pytest.mark.parametrize(
    ("members", "competes"),
    [
        ({"suspend": True}, True),
        ({"allowedTools": []}, True),
        ({"url": ""}, False),
        ({"url": "ftp://x/"}, False),
        ({"issuer": "x"}, False),
        ({"bearerFromEnv": "x"}, False),
        ({"requires": ["x"]}, False),
    ],
    ids=["suspended", "no-tools", "no-url", "bad-url", "issuer", "bearer", "requires"],
)
def test_only_otherwise_valid_servers_compete_for_a_prefix_suspended_ones_included(
    members: dict[str, Any], competes: bool
) -> None:
    made = built(entry("one", prefix="same", **members), entry("two", prefix="same"))

    assert ("two" not in made.targets) == competes
    assert (reason(made.servers["one"]) is ServerReason.PREFIX_CONFLICT) == competes


def test_a_conflict_of_very_many_is_told_in_one_short_line() -> None:
    made = built(*(entry(f"s{number:04}", prefix="same") for number in range(2_000)))

    assert not made.targets
    assert all(len(message(server)) < 120 for server in made.servers.values())
    assert "and 1996 more" in message(made.servers["s0000"])


def test_two_files_that_claim_one_name_are_both_left_out_naming_their_folders() -> None:
    made = registry.build(
        Reading(
            {
                "left": entry("left", name="same", prefix="left"),
                "right": entry("right", name="same", prefix="right"),
                "other": entry("other"),
            },
            loaded=True,
        )
    )

    assert reason(made.servers["same"]) is ServerReason.INVALID_META
    assert "left" in message(made.servers["same"])
    assert "right" in message(made.servers["same"])
    assert list(made.targets) == ["other"]


def test_equal_names_in_two_namespaces_are_two_servers() -> None:
    made = built(
        entry("x", name="github", namespace="a", prefix="a"),
        entry("y", name="github", namespace="b", prefix="b"),
    )

    assert list(made.targets) == ["a/github", "b/github"]


def test_a_held_server_is_served_and_carries_its_fault() -> None:
    made = built(entry("github", fault="meta.json: the file is not JSON"))

    assert list(made.targets) == ["github"]
    fault = made.servers["github"].fault
    assert fault
    assert fault.startswith("meta.json: the file is not JSON")
    assert "last good" in fault


def test_a_held_server_that_is_left_out_keeps_its_own_reason() -> None:
    made = built(entry("github", fault="bad", suspend=True))

    assert reason(made.servers["github"]) is ServerReason.SUSPENDED
    assert made.servers["github"].fault


def test_a_server_that_never_had_a_good_file_is_there_with_the_fault() -> None:
    made = built(Entry("github", None, "meta.json: the file is not JSON"))

    assert made.servers["github"].meta is None
    assert reason(made.servers["github"]) is ServerReason.INVALID_META
    assert message(made.servers["github"]) == "meta.json: the file is not JSON"


def test_a_bad_file_in_a_folder_named_like_a_good_server_costs_that_one_nothing() -> None:
    made = built(Entry("github", None, "bad"), entry("github"))

    assert list(made.targets) == ["github"]
    assert made.servers["github"].fault


@pytest.mark.parametrize(
    ("entries", "loaded", "echo"),
    [
        ([], True, True),
        ([], False, False),
        ([entry("a", url="")], True, True),
        ([entry("a", url=""), entry("b", url="", suspend=True)], True, True),
        ([entry("a", url=""), entry("b")], True, False),
        ([entry("a", url="ftp://x/")], True, False),
        ([entry("a", suspend=True)], True, False),
        ([entry("a", issuer="x")], True, False),
        ([Entry("a", None, "bad")], True, False),
        ([entry("a", url="", fault="bad")], True, False),
    ],
    ids=[
        "empty",
        "not-loaded",
        "no-url",
        "none-has-an-url",
        "one-has-an-url",
        "M27-bad-url",
        "M27-suspended",
        "M27-oauth",
        "never-good",
        "held-without-url",
    ],
)
def test_echo_answers_only_where_nothing_is_registered(
    entries: list[Entry], loaded: bool, echo: bool
) -> None:
    assert built(*entries, loaded=loaded).echo is echo


def test_the_fault_of_the_set_is_the_registrys() -> None:
    made = built(entry("github"), fault="the directory is empty")

    assert made.fault == "the directory is empty"
    assert list(made.targets) == ["github"]


def test_the_amended_are_those_in_both_whose_meta_says_something_else() -> None:
    old = built(entry("same"), entry("changed"), entry("gone"))
    new = built(entry("same"), entry("changed", timeoutSeconds=5), entry("new"))

    assert registry.amended(old, new) == {"changed"}


def test_a_changed_url_changes_the_target_and_nothing_else_does() -> None:
    old = built(entry("github"))
    amended = built(entry("github", timeoutSeconds=5, generation=2, allowedTools=["x"]))
    moved = built(entry("github", url="http://elsewhere.example/"))

    assert amended.targets == old.targets
    assert moved.targets != old.targets
