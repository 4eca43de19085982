"""What is exposed beside tools is listed with them, and nothing else is asked for."""

from dataclasses import replace
from typing import Any

import pytest

from bench.behaviours import closes, cuts, errs, hangs, in_turn, responds, results_in
from bench.legacy_server import LegacyServer, tool
from bench.links import QUICK, linked
from bench.modern_server import MODERN, ModernServer
from bench.raw_upstream import Behaviour, RawUpstream
from pointsman_contract.meta import Exposed, Protocol
from pointsman_contract.report import ServerReason
from pointsman_router.entrycheck import Kind
from pointsman_router.offer import Listing
from pointsman_router.registry import Skip
from pointsman_router.upstream import Limits, Trouble

EVERYTHING = tuple(Exposed)
ASK, OTHER, PAGE, ROW = ({"name": name} for name in ("ask", "other", "page", "row"))
ALL = ("tools", "prompts", "resources")
SMALL = replace(
    QUICK, first_byte_s=0.2, page_max_bytes=4000, pages_max=5, tools_max=20, list_max_bytes=6000
)


def legacy(*capabilities: str, **on: Behaviour) -> LegacyServer:
    declared: Any = {name: {} for name in capabilities}
    welcome = {"protocolVersion": "2025-11-25", "capabilities": declared}
    on = {name.replace("__", "/"): behaviour for name, behaviour in on.items()}
    return LegacyServer(
        [tool("add")],
        sessions=False,
        on={
            "initialize": results_in(welcome),
            "prompts/list": in_turn(
                results_in({"prompts": [ASK], "nextCursor": "1"}), results_in({"prompts": [OTHER]})
            ),
            "resources/list": results_in({"resources": [PAGE]}),
            "resources/templates/list": results_in({"resourceTemplates": [ROW]}),
            **on,
        },
    )


async def listed(
    server: LegacyServer | ModernServer,
    *exposes: Exposed,
    protocol: Protocol = Protocol.LEGACY,
    limits: Limits = QUICK,
) -> tuple[Listing, set[str]]:
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), limits, exposes=exposes, protocol=protocol) as link,
    ):
        listing = await link.list()
        asked = {one.rpc_method for one in upstream.received if one.rpc_method.endswith("/list")}
    return listing, asked


def count(listing: Listing) -> tuple[int, int, int, int]:
    return (
        len(listing.tools),
        len(listing.prompts),
        len(listing.resources),
        len(listing.templates),
    )


async def test_everything_that_is_exposed_is_listed_page_after_page() -> None:
    listing, _ = await listed(legacy(*ALL), *EVERYTHING)

    assert count(listing) == (1, 2, 1, 1)
    assert listing.prompts == (b'{"name": "ask"}', b'{"name": "other"}')


@pytest.mark.parametrize(
    ("exposes", "asked"),
    [
        pytest.param([Exposed.TOOLS], {"tools/list"}, id="tools"),
        pytest.param([Exposed.PROMPTS], {"prompts/list"}, id="prompts"),
        pytest.param(
            [Exposed.RESOURCES], {"resources/list", "resources/templates/list"}, id="resources"
        ),
    ],
)
async def test_nothing_is_asked_for_that_is_not_exposed(
    exposes: list[Exposed], asked: set[str]
) -> None:
    _, found = await listed(legacy(*ALL), *exposes)

    assert found == asked


async def test_nothing_is_asked_for_that_a_server_does_not_declare() -> None:
    listing, asked = await listed(legacy("tools"), *EVERYTHING)

    assert count(listing) == (1, 0, 0, 0)
    assert asked == {"tools/list"}


async def test_a_list_that_a_server_does_not_know_is_empty() -> None:
    without = legacy(*ALL, resources__templates__list=errs(-32601, "Method not found"))

    listing, _ = await listed(without, *EVERYTHING)

    assert count(listing) == (1, 2, 1, 0)


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(responds(500), id="HTTP 500"),
        pytest.param(closes(), id="a lost connection"),
        pytest.param(hangs(), id="silence"),
    ],
)
async def test_a_list_that_breaks_off_leaves_nothing_half_known(broken: Behaviour) -> None:
    with pytest.raises(Trouble):
        await listed(legacy(*ALL, prompts__list=broken), *EVERYTHING, limits=SMALL)


@pytest.mark.parametrize(
    ("broken", "reason", "says"),
    [
        pytest.param(
            results_in({"prompts": {}}),
            "ProtocolViolation",
            "list of prompts is none",
            id="no list",
        ),
        pytest.param(
            results_in({"prompts": [], "nextCursor": "x"}),
            "CursorLoop",
            "list of prompts never ends",
            id="pages without end",
        ),
        pytest.param(
            results_in({"prompts": [{"name": str(n)} for n in range(21)]}),
            "ListTooLarge",
            "more than 20 prompts",
            id="many prompts",
        ),
        pytest.param(
            in_turn(*(results_in({"prompts": [], "nextCursor": str(n)}) for n in range(9))),
            "ListTooLarge",
            "more than 5 pages",
            id="many pages",
        ),
        pytest.param(
            results_in({"prompts": [{"name": "x" * 5000}]}),
            "ListTooLarge",
            "larger than 4000 bytes",
            id="a large page",
        ),
        pytest.param(
            in_turn(
                *(
                    results_in({"prompts": [{"name": "x" * 3500}], "nextCursor": str(n)})
                    for n in range(9)
                )
            ),
            "ListTooLarge",
            "list of prompts is larger than",
            id="large pages in sum",
        ),
        pytest.param(
            results_in({"prompts": []}, rpc_id="another"),
            "ProtocolViolation",
            "another request",
            id="somebody else's answer",
        ),
        pytest.param(
            cuts({"prompts": []}, 20), "ProtocolViolation", "broke off", id="a cut answer"
        ),
    ],
)
async def test_a_list_that_is_none_or_beyond_bounds_costs_no_other(
    broken: Behaviour, reason: str, says: str
) -> None:
    server = legacy(*ALL, prompts__list=broken)

    listing, _ = await listed(server, *EVERYTHING, limits=SMALL)

    assert count(listing) == (1, 0, 1, 1)
    assert listing.refused.keys() == {Kind.PROMPT}
    assert listing.refused[Kind.PROMPT].reason == reason
    assert says in listing.refused[Kind.PROMPT].message


async def test_a_session_that_cannot_be_opened_again_is_no_matter_of_one_list() -> None:
    welcome = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "prompts": {}}}
    opened = results_in(welcome, **{"Mcp-Session-Id": "s"})
    server = legacy(initialize=in_turn(opened, results_in({}), opened), prompts__list=responds(404))

    with pytest.raises(Trouble, match="initialize"):
        await listed(server, *EVERYTHING)


REFUSABLE = {
    "prompts__list": (Kind.PROMPT, (1, 0, 1, 1)),
    "resources__list": (Kind.RESOURCE, (1, 2, 0, 1)),
    "resources__templates__list": (Kind.TEMPLATE, (1, 2, 1, 0)),
}


@pytest.mark.parametrize("code", [-32603, -32602, -32000, 7])
@pytest.mark.parametrize("status", [200, 400], ids=["under 200", "under 400"])
@pytest.mark.parametrize("method", REFUSABLE)
async def test_a_list_that_is_answered_with_an_error_costs_no_other(
    method: str, status: int, code: int
) -> None:
    kind, found = REFUSABLE[method]
    refusal = errs(code, "no, thanks", status=status)

    listing, _ = await listed(legacy(*ALL, **{method: refusal}), *EVERYTHING)

    assert count(listing) == found
    asked = method.replace("__", "/")
    message = f"the upstream answers {asked} with error {code}: no, thanks"
    assert listing.refused == {kind: Skip(ServerReason.UPSTREAM_RPC_ERROR, message)}


@pytest.mark.parametrize("code", [-32603, -32601])
async def test_a_page_that_is_answered_with_an_error_refuses_its_whole_list(code: int) -> None:
    first = results_in({"prompts": [ASK], "nextCursor": "1"})
    server = legacy(*ALL, prompts__list=in_turn(first, errs(code, "no")))

    listing, _ = await listed(server, *EVERYTHING)

    assert count(listing) == (1, 0, 1, 1)
    assert listing.refused.keys() == {Kind.PROMPT}


async def test_without_the_list_of_tools_nothing_is_listed() -> None:
    with pytest.raises(Trouble, match="tools/list") as error:
        await listed(legacy(*ALL, tools__list=errs(-32603, "no")), *EVERYTHING)

    assert error.value.reason == ServerReason.UPSTREAM_RPC_ERROR


async def test_a_modern_server_is_asked_in_its_own_era() -> None:
    discovered = {
        "supportedVersions": [MODERN],
        "capabilities": {"prompts": {}},
        "resultType": "complete",
    }
    result = {"prompts": [ASK], "ttlMs": 5, "cacheScope": "private"}
    server = ModernServer(
        on={"server/discover": results_in(discovered), "prompts/list": results_in(result)}
    )

    listing, asked = await listed(
        server, Exposed.PROMPTS, Exposed.RESOURCES, protocol=Protocol.MODERN
    )

    assert count(listing) == (0, 1, 0, 0)
    assert (listing.ttl_ms, listing.private) == (5, True)
    assert asked == {"prompts/list"}
