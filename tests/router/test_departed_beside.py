"""What is said of prompts and resources that agents once saw."""

import json
from collections.abc import Iterable
from dataclasses import replace

import pytest

from bench.catalogues import NOW_S, Known, built, server, skip
from bench.listed_beside import described
from pointsman_contract import rawjson
from pointsman_contract.meta import Exposed
from pointsman_contract.report import ServerReason
from pointsman_router import departed, dispatch, offer
from pointsman_router.catalogue import Catalogue
from pointsman_router.departed import DEPARTED_S
from pointsman_router.endpoints import Endpoint
from pointsman_router.entrycheck import Kind
from pointsman_router.eras import Revision
from pointsman_router.jsonrpc import Request
from pointsman_router.listing import Form
from pointsman_router.offer import Finding, Listing
from pointsman_router.outgoing import Forward
from pointsman_router.refusals import Refusal


def found(
    prompts: Iterable[str] = (), uris: Iterable[str] = (), templates: Iterable[str] = ()
) -> Finding:
    listing = Listing(
        (),
        "2025-11-25",
        prompts=tuple(described(Kind.PROMPT, name) for name in prompts),
        resources=tuple(described(Kind.RESOURCE, uri) for uri in uris),
        templates=tuple(described(Kind.TEMPLATE, text) for text in templates),
    )
    return Finding(offer.read(listing), None)


GITHUB = server("tools/github", expose=(Exposed.PROMPTS, Exposed.RESOURCES))
OTHER = Known(server("tools/other", expose=tuple(Exposed)), found(["x"], ["other://x"]))
WHOLE = Known(GITHUB, found(["ask", "tell"], ["test://a", "test://b"], ["row://{n}"]))
SHORTER = Known(GITHUB, found(["tell"], ["test://b"], ["row://{n}"]))
SUSPENDED = Known(replace(GITHUB, skip=skip(ServerReason.SUSPENDED)))
UNREACHABLE = Known(GITHUB, Finding(None, skip(ServerReason.UNREACHABLE)))
COMMON, ONE = Endpoint(Form.DOTTED), Endpoint(Form.BARE, "tools/github")


def over_time(*worlds: list[Known], every_s: float = 1.0) -> Catalogue:
    """The catalogue after these worlds followed each other."""
    made = None
    for number, world in enumerate(worlds):
        made = built(*world, now_s=NOW_S + number * every_s, previous=made)
    assert made is not None
    return made


def asked(
    of: Catalogue,
    method: str,
    *,
    view: Endpoint = COMMON,
    revision: Revision = Revision.MODERN,
    **params: str | dict[str, str],
) -> Refusal | None:
    """How a request is refused, if it is."""
    raw = {name: json.dumps(value).encode() for name, value in params.items()}
    decision = dispatch.decide(of, view, Request(b"1", method, raw), revision, 100)
    assert isinstance(decision, Forward | Refusal)
    return decision if isinstance(decision, Refusal) else None


def reason(refusal: Refusal | None) -> str | None:
    assert refusal is not None
    said = rawjson.members(refusal.data or b"{}").get("reason", b"null")
    return None if said == b"null" else rawjson.string(said)


AFTERWARDS = pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param([SHORTER, OTHER], "removed", id="no longer listed"),
        pytest.param([OTHER], "removed", id="a removed server"),
        pytest.param([SUSPENDED, OTHER], "suspended", id="a suspended server"),
        pytest.param([UNREACHABLE, OTHER], "removed", id="a server without an offer"),
    ],
)


@AFTERWARDS
@pytest.mark.parametrize("name", ["github.ask", "github__ask"])
def test_a_prompt_that_went_says_what_became_of_it(
    name: str, after: list[Known], expected: str
) -> None:
    now = over_time([WHOLE, OTHER], after)
    reference = {"type": "ref/prompt", "name": name}
    argument = {"name": "n", "value": ""}

    got = asked(now, "prompts/get", name=name)
    completed = asked(now, "completion/complete", ref=reference, argument=argument)

    for refusal in (got, completed):
        assert refusal is not None
        assert (refusal.status, refusal.code) == (200, -32602)
        assert refusal.message == f"Unknown prompt: {name}"
        assert reason(refusal) == expected


@AFTERWARDS
@pytest.mark.parametrize("revision", [Revision.MODERN, Revision.V2025_11_25])
def test_a_resource_that_went_says_what_became_of_it(
    revision: Revision, after: list[Known], expected: str
) -> None:
    now = over_time([WHOLE, OTHER], after)

    refusal = asked(now, "resources/read", revision=revision, uri="test://a")

    assert refusal is not None
    assert refusal.code == (-32602 if revision is Revision.MODERN else -32002)
    assert rawjson.members(refusal.data or b"")["uri"] == b'"test://a"'
    assert reason(refusal) == expected


def test_the_endpoint_of_one_server_speaks_of_its_own_alone() -> None:
    now = over_time([WHOLE, OTHER], [SHORTER])

    assert reason(asked(now, "prompts/get", view=ONE, name="ask")) == "removed"
    assert reason(asked(now, "resources/read", view=ONE, uri="test://a")) == "removed"
    assert reason(asked(now, "prompts/get", view=ONE, name="x")) is None
    assert reason(asked(now, "resources/read", view=ONE, uri="other://x")) is None


def test_what_never_was_there_says_nothing() -> None:
    now = over_time([WHOLE, OTHER], [SHORTER])

    assert reason(asked(now, "prompts/get", name="github.never")) is None
    assert reason(asked(now, "resources/read", uri="test://never")) is None


def test_what_only_a_template_stands_for_is_known_to_be_suspended_and_forgotten_when_gone() -> None:
    suspended, gone = over_time([WHOLE], [SUSPENDED]), over_time([WHOLE], [OTHER])

    assert reason(asked(suspended, "resources/read", uri="row://7")) == "suspended"
    assert reason(asked(gone, "resources/read", uri="row://7")) is None


def test_what_leads_somewhere_again_has_not_gone() -> None:
    now = over_time([WHOLE], [SUSPENDED], [WHOLE])

    assert asked(now, "prompts/get", name="github.ask") is None
    assert asked(now, "resources/read", uri="test://a") is None
    assert (now.departed_prompts, now.departed_uris) == ({}, {})


def test_it_is_forgotten_after_a_day_and_not_before() -> None:
    day = over_time([WHOLE], [OTHER], [OTHER], every_s=DEPARTED_S - 1)
    later = over_time([WHOLE], [OTHER], [OTHER], every_s=DEPARTED_S)

    assert reason(asked(day, "prompts/get", name="github.ask")) == "removed"
    assert reason(asked(day, "resources/read", uri="test://a")) == "removed"
    assert (later.departed_prompts, later.departed_uris) == ({}, {})


def test_a_prompt_and_a_tool_of_one_name_are_two() -> None:
    now = over_time([WHOLE], [SHORTER])

    assert now.departed == {}
    assert now.departed_prompts.keys() == {"github.ask", "github__ask"}


def test_the_memory_is_bounded_and_the_oldest_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(departed, "DEPARTED_MAX", 2)
    monkeypatch.setattr(departed, "DEPARTED_URIS_MAX", 1)

    made = over_time([WHOLE, OTHER], [WHOLE], [SHORTER])

    assert made.departed_prompts.keys() == {"github.ask", "github__ask"}
    assert made.departed_uris.keys() == {"test://a"}
