"""Any set of servers with any offers: what a catalogue must be right for."""

from hypothesis import strategies as st

from bench.catalogues import Known, definition, offered, server, skip
from bench.nasty import TWINS
from pointsman_contract import names
from pointsman_contract.report import ServerReason
from pointsman_router.offer import Finding
from pointsman_router.registry import Server

LONG = "x" * 60

World = list[Known]

TOOLS = st.one_of(
    st.sampled_from(["add", "Add", "a.b", "a_b", "a b", "a/b", "__x", "x.", LONG, *TWINS]),
    st.sampled_from(["x" * 80, names.of("p", "x" * 80).listed.removeprefix("p.")]),
    st.text(st.characters(exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp", "Mn")), min_size=1),
)
BAD = (definition("bad", title=5), definition("\u200b"), b"1")
_BAD = st.sampled_from([*BAD, definition("twice")])


@st.composite
def findings(draw: st.DrawFn) -> Finding | None:
    """What may be known of an upstream."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from([None, Finding(None, skip(ServerReason.TIMEOUT))]))
    tools = draw(st.lists(st.one_of(TOOLS.map(definition), _BAD), max_size=6))
    trouble = skip(ServerReason.UNREACHABLE) if draw(st.integers(0, 4)) == 0 else None
    return Finding(offered(*tools), trouble)


@st.composite
def servers(draw: st.DrawFn, id_: str, prefix: str) -> Server:
    """One server, in any state that the registry may put it in."""
    allowed = draw(st.one_of(st.just(["*"]), st.lists(TOOLS, min_size=1, max_size=4, unique=True)))
    out = draw(st.sampled_from([None] * 8 + [ServerReason.SUSPENDED, ServerReason.INVALID_URL]))
    fitting = [name for name in allowed if len(name) <= 128]
    return server(id_, prefix=prefix, allowed=fitting, out=out)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    prefixes = draw(
        st.lists(
            st.sampled_from(["p", "a", "a_b", "x", "long_prefix_of_many_letters_x"]), unique=True
        )
    )
    return [Known(draw(servers(f"team/{prefix}", prefix)), draw(findings())) for prefix in prefixes]
