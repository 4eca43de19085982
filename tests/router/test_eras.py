"""Which revision a request speaks, and which rung of its ladder it misses first."""

import base64
import itertools
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given

from bench import spelled
from pointsman_contract import rawjson
from pointsman_router import catalogue, dispatch
from pointsman_router.endpoints import Endpoint
from pointsman_router.eras import (
    LEGACY,
    LEGACY_NEWEST,
    LEGACY_UNSTATED,
    Revision,
    legacy,
    legacy_named,
    modern,
)
from pointsman_router.eras.modern import CAPABILITIES_KEY, VERSION_KEY, Headers
from pointsman_router.jsonrpc import Notification, Request
from pointsman_router.listing import Form
from pointsman_router.refusals import Refusal

MODERN = "2026-07-28"


@dataclass(frozen=True)
class Sent:
    """A modern request, part by part."""

    method: str = "tools/call"
    params: dict[str, Any] = field(default_factory=lambda: {"name": "github.search"})
    meta: dict[str, Any] | None = field(
        default_factory=lambda: {VERSION_KEY: MODERN, CAPABILITIES_KEY: {}}
    )
    version: tuple[str, ...] = (MODERN,)
    method_header: tuple[str, ...] = ("tools/call",)
    name_header: tuple[str, ...] = ("github.search",)

    @property
    def headers(self) -> Headers:
        return Headers(self.version, self.method_header, self.name_header)

    @property
    def request(self) -> Request:
        whole = self.params if self.meta is None else {**self.params, "_meta": self.meta}
        params = {name: json.dumps(value).encode() for name, value in whole.items()}
        return Request(b"7", self.method, params)

    def changed_meta(self, **changes: Any) -> "Sent":
        meta = {**(self.meta or {}), **changes}
        return replace(self, meta={key: value for key, value in meta.items() if value is not ...})


def verdict(sent: Sent) -> tuple[int, int] | None:
    """Status and code of the first rung that `sent` misses, the method's own included."""
    refusal = modern.problem(sent.headers, sent.request)
    if refusal is None:
        decision = dispatch.decide(
            catalogue.empty(), Endpoint(Form.DOTTED), sent.request, Revision.MODERN, 100
        )
        refusal = decision if isinstance(decision, Refusal) else None
    return (refusal.status, refusal.code) if refusal else None


def test_a_request_that_describes_itself_misses_no_rung() -> None:
    assert modern.problem(Sent().headers, Sent().request) is None


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        pytest.param(replace(Sent(), version=(MODERN, MODERN)), (400, -32020), id="4 two versions"),
        pytest.param(
            replace(Sent(), method_header=("tools/call",) * 2), (400, -32020), id="4 two methods"
        ),
        pytest.param(
            replace(Sent(), name_header=("github.search",) * 2), (400, -32020), id="4 two names"
        ),
        pytest.param(replace(Sent(), meta=None), (400, -32602), id="5 J24 no _meta"),
        pytest.param(replace(Sent(), meta={}), (400, -32602), id="5 J24 an empty _meta"),
        pytest.param(
            Sent().changed_meta(**{VERSION_KEY: ...}), (400, -32602), id="5 J24 no version in it"
        ),
        pytest.param(
            Sent().changed_meta(**{VERSION_KEY: 20260728}), (400, -32602), id="5 a number for it"
        ),
        pytest.param(
            Sent().changed_meta(**{CAPABILITIES_KEY: ...}),
            (400, -32602),
            id="5 J24 no capabilities",
        ),
        pytest.param(
            Sent().changed_meta(**{CAPABILITIES_KEY: []}), (400, -32602), id="5 a list of them"
        ),
        pytest.param(
            Sent().changed_meta(**{CAPABILITIES_KEY: None}), (400, -32602), id="5 null for them"
        ),
        pytest.param(replace(Sent(), version=()), (400, -32020), id="6 H13 no version header"),
        pytest.param(
            replace(Sent(), version=("2025-11-25",)), (400, -32020), id="6 H13 another version"
        ),
        pytest.param(replace(Sent(), version=("",)), (400, -32020), id="6 an empty version"),
        pytest.param(replace(Sent(), method_header=()), (400, -32020), id="6 H14 no method"),
        pytest.param(
            replace(Sent(), method_header=("Tools/Call",)), (400, -32020), id="6 H14 in capitals"
        ),
        pytest.param(replace(Sent(), name_header=()), (400, -32020), id="6 H14 no name"),
        pytest.param(
            replace(Sent(), name_header=("github.delete",)), (400, -32020), id="6 H14 another name"
        ),
        pytest.param(replace(Sent(), params={}), (400, -32020), id="6 no name in the body"),
        pytest.param(
            replace(Sent(), params={"name": 5}, name_header=("5",)), (400, -32020), id="6 a number"
        ),
        pytest.param(
            replace(Sent(), version=("2027-01-01",)).changed_meta(**{VERSION_KEY: "2027-01-01"}),
            (400, -32022),
            id="7 H13 a version that is not served",
        ),
        pytest.param(
            replace(Sent(), version=("2025-11-25",)).changed_meta(**{VERSION_KEY: "2025-11-25"}),
            (400, -32022),
            id="7 a legacy version that describes itself",
        ),
        *(
            pytest.param(
                replace(Sent(), method=method, method_header=(method,), name_header=()),
                (404, -32601),
                id=f"9 J11 {method}",
            )
            for method in (
                "initialize",
                "ping",
                "logging/setLevel",
                "resources/subscribe",
                "resources/unsubscribe",
                "Tools/list",
                "nobody/knows",
            )
        ),
    ],
)
def test_a_modern_request_falls_off_at_the_rung_it_misses(
    sent: Sent, answer: tuple[int, int]
) -> None:
    assert verdict(sent) == answer


def _unserved(sent: Sent) -> Sent:
    return replace(sent, version=("1999-01-01",)).changed_meta(**{VERSION_KEY: "1999-01-01"})


def _unknown(sent: Sent) -> Sent:
    named = sent.method_header == ("tools/call",)
    return replace(
        sent, method="no/such", method_header=("no/such",) if named else sent.method_header
    )


RUNGS: dict[int, tuple[Callable[[Sent], Sent], tuple[int, int]]] = {
    4: (lambda sent: replace(sent, name_header=("x", "x")), (400, -32020)),
    5: (lambda sent: sent.changed_meta(**{CAPABILITIES_KEY: ...}), (400, -32602)),
    6: (lambda sent: replace(sent, method_header=("x",)), (400, -32020)),
    7: (_unserved, (400, -32022)),
    9: (_unknown, (404, -32601)),
}


@pytest.mark.parametrize(
    "missed",
    [
        rungs
        for size in range(1, len(RUNGS) + 1)
        for rungs in itertools.combinations(reversed(RUNGS), size)
    ],
    ids=lambda rungs: "rungs " + " ".join(map(str, rungs)),
)
def test_the_first_failure_wins(missed: Iterable[int]) -> None:
    sent = Sent()
    for rung in missed:
        sent = RUNGS[rung][0](sent)

    assert verdict(sent) == RUNGS[min(missed)][1]


def test_an_unserved_version_is_told_what_is_served() -> None:
    refusal = modern.problem(_unserved(Sent()).headers, _unserved(Sent()).request)

    assert refusal is not None
    assert json.loads(refusal.data or b"") == {"supported": [MODERN], "requested": "1999-01-01"}


def test_an_unserved_version_of_any_length_is_not_repeated_whole() -> None:
    long = "x" * 10_000
    sent = replace(Sent(), version=(long,)).changed_meta(**{VERSION_KEY: long})

    refusal = modern.problem(sent.headers, sent.request)

    assert refusal is not None
    assert len(refusal.data or b"") < 512


def marked(raw: bytes) -> str:
    return f"=?base64?{base64.b64encode(raw).decode()}?="


@pytest.mark.parametrize(
    ("header", "name", "agrees"),
    [
        pytest.param("github.search", "github.search", True, id="as it is"),
        pytest.param("github.Search", "github.search", False, id="in capitals"),
        pytest.param(marked("käse 😀".encode()), "käse 😀", True, id="base64 of UTF-8"),
        pytest.param(marked(b"github.search"), "github.search", True, id="base64 without need"),
        pytest.param(marked(marked(b"x").encode()), marked(b"x"), True, id="a name like the mark"),
        pytest.param(marked(b"x"), marked(b"x"), False, id="a name like the mark, not wrapped"),
        pytest.param(marked(b" x "), " x ", True, id="blanks at the ends"),
        pytest.param(marked(b""), "", True, id="nothing"),
        pytest.param("", "", True, id="an empty header for an empty name"),
        pytest.param("=?base64?eA", "=?base64?eA", True, id="only the opening mark: literal"),
        pytest.param("eA==?=", "eA==?=", True, id="only the closing mark: literal"),
        pytest.param("=?base64?=", "=?base64?=", True, id="two marks in one: literal"),
        pytest.param("=?BASE64?eA==?=", "x", False, id="the mark in capitals: literal"),
        pytest.param("=?base64?eA?=", "x", False, id="padding left out"),
        pytest.param("=?base64?eB==?=", "x", False, id="bits that count for nothing"),
        pytest.param("=?base64?eA==\n?=", "x", False, id="a line feed inside"),
        pytest.param("=?base64? eA==?=", "x", False, id="a blank inside"),
        pytest.param("=?base64?_-8=?=", "\u00ff", False, id="the other alphabet"),
        pytest.param(marked(b"\xff"), "\u00ff", False, id="Latin-1"),
        pytest.param("=?base64?ä?=", "x", False, id="a letter beyond ASCII"),
        pytest.param("=?base64?*?=", "x", False, id="no base64"),
        pytest.param(marked(b"\xed\xa0\x80"), "\ud800", False, id="an encoded surrogate"),
    ],
)
def test_h14_a_name_header_agrees_with_the_body_as_decoded(
    header: str, name: str, agrees: bool
) -> None:
    sent = replace(Sent(), name_header=(header,), params={"name": name})

    assert (modern.problem(sent.headers, sent.request) is None) == agrees


@given(spelled.texts())
def test_every_name_has_a_header_that_agrees(name: str) -> None:
    sent = replace(Sent(), name_header=(marked(name.encode()),), params={"name": name})

    assert modern.problem(sent.headers, sent.request) is None


@pytest.mark.parametrize("method", ["tools/list", "server/discover"])
def test_what_names_nothing_needs_no_name_header(method: str) -> None:
    sent = Sent(method=method, params={}, method_header=(method,), name_header=())

    assert modern.problem(sent.headers, sent.request) is None


@pytest.mark.parametrize(
    ("version", "meta", "is_modern"),
    [
        pytest.param((), None, False, id="neither"),
        pytest.param((MODERN,), None, True, id="the header"),
        pytest.param(("2031-01-01",), None, True, id="a header of the future"),
        pytest.param(("garbage",), None, True, id="a header that is no version"),
        pytest.param((), b'{"%b":"2026-07-28"}' % VERSION_KEY.encode(), True, id="the body"),
        pytest.param(
            ("2025-11-25",), b'{"%b":1}' % VERSION_KEY.encode(), True, id="against header"
        ),
        pytest.param((), b'{"%b":{}}' % CAPABILITIES_KEY.encode(), False, id="another key"),
        pytest.param((), b"[]", False, id="a _meta that is a list"),
        *(
            pytest.param((revision.value,), None, False, id=f"the header {revision}")
            for revision in sorted(LEGACY)
        ),
    ],
)
def test_a_request_speaks_the_era_that_header_or_body_names(
    version: tuple[str, ...], meta: bytes | None, is_modern: bool
) -> None:
    request = Request(b"1", "tools/list", {} if meta is None else {"_meta": meta})

    assert modern.is_meant(Headers(version), request.meta) == is_modern


@pytest.mark.parametrize(
    ("version", "meta", "code"),
    [
        pytest.param((MODERN,), {}, None, id="served"),
        pytest.param((), {VERSION_KEY: MODERN}, None, id="served, by the body"),
        pytest.param((), {}, None, id="not stated"),
        pytest.param(("2027-01-01",), {}, -32022, id="not served"),
        pytest.param((), {VERSION_KEY: "2027-01-01"}, -32022, id="not served, by the body"),
    ],
)
def test_a_notification_is_asked_for_its_version_alone(
    version: tuple[str, ...], meta: dict[str, str], code: int | None
) -> None:
    notification = Notification(
        "notifications/cancelled", {"_meta": json.dumps(meta).encode()} if meta else {}
    )

    refusal = modern.notification_problem(Headers(version), notification)

    assert (refusal and refusal.code) == code


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [
        pytest.param("2025-03-26", "2025-03-26", id="J32 2025-03-26"),
        pytest.param("2025-06-18", "2025-06-18", id="J32 2025-06-18"),
        pytest.param("2025-11-25", "2025-11-25", id="J32 2025-11-25"),
        pytest.param("2024-11-05", "2024-11-05", id="J32 the transport before this one"),
        pytest.param(MODERN, "2025-11-25", id="J32 the modern one"),
        pytest.param("1999-01-01", "2025-11-25", id="J32 one that never was"),
        pytest.param("2025-11-25 ", "2025-11-25", id="J32 one with a blank"),
        pytest.param("", "2025-11-25", id="J32 an empty one"),
    ],
)
def test_initialize_agrees_on_what_is_asked_for_or_on_the_newest_legacy_one(
    asked: str, agreed: str
) -> None:
    assert legacy.agreed({"protocolVersion": rawjson.quote(asked)}) == agreed


@pytest.mark.parametrize(
    "params",
    [{"protocolVersion": b"20251125"}, {"protocolVersion": b"null"}, {}],
    ids=["a number", "null", "none"],
)
def test_j32_initialize_with_no_version_in_words_is_refused(params: dict[str, bytes]) -> None:
    refusal = legacy.agreed(params)

    assert isinstance(refusal, Refusal)
    assert (refusal.status, refusal.code) == (200, -32602)


@pytest.mark.parametrize(
    ("header", "revision"),
    [(None, LEGACY_UNSTATED), *((revision.value, revision) for revision in sorted(LEGACY))],
)
def test_the_header_alone_says_which_legacy_revision_is_in_force(
    header: str | None, revision: Revision
) -> None:
    assert legacy.in_force(header) is revision


def test_only_revisions_that_know_arrays_take_them() -> None:
    taking = {revision for revision in Revision if legacy.takes_batches(revision)}

    assert taking == {Revision.V2024_11_05, Revision.V2025_03_26}


def test_versions_are_members_of_a_set_and_never_compared_as_dates() -> None:
    assert legacy_named("2025-11-26") is None
    assert legacy_named("9999-99-99") is None
    assert legacy_named(MODERN) is None
    assert LEGACY_NEWEST in LEGACY
