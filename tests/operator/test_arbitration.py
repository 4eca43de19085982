"""Who has a prefix that several servers want."""

import random
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pointsman_contract import register
from pointsman_contract.meta import Exposed, Protocol
from pointsman_contract.register import Claim, Register
from pointsman_operator import arbitration
from pointsman_operator.arbitration import Arbitration, Conflict
from pointsman_operator.claims import Claims
from pointsman_operator.spec import Identity, Server

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
GRACE = timedelta(hours=1)


def server(name: str, prefix: str = "p", *, second: int = 0, uid: str = "") -> Server:
    created = f"2026-01-01T00:00:{second:02}Z"
    identity = Identity("n", name, uid or f"uid-{name}", 1, created)
    exposed = (Exposed.TOOLS,)
    return Server(identity, "http://h/", ("*",), prefix, Protocol.AUTO, exposed, 60, False)


def arbitrate(
    servers: Iterable[Server], claims: Register | None = None, *, now: datetime = NOON
) -> Arbitration:
    return arbitration.arbitrate(servers, claims or {}, now=now, grace=GRACE)


def test_one_server_has_its_prefix() -> None:
    ruling = arbitrate([server("a")])

    assert ruling.holders == {"p": "n/a"}
    assert ruling.conflicts == {}
    assert ruling.register == {"p": Claim("n/a")}
    assert ruling.deadline is None


@pytest.mark.parametrize(
    ("older", "younger"),
    [
        pytest.param(server("z", second=1), server("a", second=2), id="by age"),
        pytest.param(server("z", uid="u1"), server("a", uid="u2"), id="of one second: by uid"),
    ],
)
def test_the_older_server_has_the_prefix(older: Server, younger: Server) -> None:
    for order in ([older, younger], [younger, older]):
        ruling = arbitrate(order)

        assert ruling.holders == {"p": older.id}
        assert ruling.conflicts == {younger.id: Conflict("p", older.id)}


def test_the_registered_holder_has_the_prefix_even_from_an_older_one() -> None:
    ruling = arbitrate([server("old", second=1), server("new", second=9)], {"p": Claim("n/new")})

    assert ruling.holders == {"p": "n/new"}
    assert ruling.conflicts.keys() == {"n/old"}


def test_a_suspended_server_keeps_its_prefix() -> None:
    suspended = server("a", second=1)
    suspended = replace(suspended, allowed_tools=(), suspend=True)

    assert arbitrate([suspended, server("b", second=2)]).holders == {"p": "n/a"}


def test_the_prefix_of_a_holder_that_is_gone_waits_for_it() -> None:
    ruling = arbitrate([server("b")], {"p": Claim("n/a")})

    assert ruling.holders == {}
    assert ruling.register == {"p": Claim("n/a", NOON)}
    assert ruling.conflicts == {"n/b": Conflict("p", "n/a", NOON + GRACE)}
    assert ruling.deadline == NOON + GRACE


def test_a_holder_that_comes_back_in_time_has_its_prefix_again() -> None:
    released = {"p": Claim("n/a", NOON - GRACE / 2)}

    ruling = arbitrate([server("a", second=9), server("b", second=1)], released)

    assert ruling.holders == {"p": "n/a"}
    assert ruling.register == {"p": Claim("n/a")}


def test_after_the_grace_time_the_next_one_has_the_prefix() -> None:
    ruling = arbitrate([server("b")], {"p": Claim("n/a", NOON - GRACE)})

    assert ruling.holders == {"p": "n/b"}
    assert ruling.register == {"p": Claim("n/b")}


def test_a_prefix_that_nobody_wants_any_more_is_forgotten_after_the_grace_time() -> None:
    assert arbitrate([], {"p": Claim("n/a", NOON - GRACE / 2)}).register == {
        "p": Claim("n/a", NOON - GRACE / 2)
    }
    assert arbitrate([], {"p": Claim("n/a", NOON - GRACE)}).register == {}


def test_a_server_that_changes_its_prefix_gives_the_old_one_up() -> None:
    ruling = arbitrate([server("a", "q"), server("b", "p")], {"p": Claim("n/a")})

    assert ruling.holders == {"q": "n/a"}
    assert ruling.conflicts["n/b"].holder == "n/a"


@pytest.mark.parametrize(
    ("conflict", "message"),
    [
        pytest.param(
            Conflict("p", "n/a"),
            "spec.prefix must be set to another prefix: p belongs to n/a",
            id="a holder that is there",
        ),
        pytest.param(
            Conflict("p", "n/a", NOON),
            "spec.prefix must be set to another prefix: p belongs to n/a, which is gone and may"
            " come back until 2026-01-01T12:00:00Z",
            id="a holder that is gone",
        ),
    ],
)
def test_a_conflict_names_the_holder_and_the_field_to_set(conflict: Conflict, message: str) -> None:
    assert conflict.message == message


_SERVERS = st.lists(
    st.builds(
        server,
        st.sampled_from("abcdef"),
        st.sampled_from("pqr"),
        second=st.integers(0, 3),
    ),
    max_size=8,
    unique_by=lambda one: one.id,
)
_REGISTERS = st.dictionaries(
    st.sampled_from("pqrs"),
    st.builds(
        Claim,
        st.sampled_from(["n/a", "n/b", "n/c", "n/gone"]),
        st.none() | st.sampled_from([NOON - GRACE, NOON - GRACE / 2, NOON + GRACE]),
    ),
)


@given(_SERVERS, _REGISTERS, st.randoms())
def test_the_order_of_arrival_decides_nothing(
    servers: list[Server], claims: Register, order: random.Random
) -> None:
    shuffled = list(servers)
    order.shuffle(shuffled)

    assert arbitrate(servers, claims) == arbitrate(shuffled, claims)


@given(_SERVERS, _REGISTERS)
def test_a_second_look_decides_the_same(servers: list[Server], claims: Register) -> None:
    first = arbitrate(servers, claims)

    second = arbitrate(servers, register.load(register.dump(first.register)))

    assert second.register == first.register
    assert second.holders == first.holders
    assert second.conflicts == first.conflicts


@given(_SERVERS, _REGISTERS)
def test_every_server_either_has_its_prefix_or_is_told_who_has(
    servers: list[Server], claims: Register
) -> None:
    ruling = arbitrate(servers, claims)

    for one in servers:
        assert (ruling.holders.get(one.prefix) == one.id) != (one.id in ruling.conflicts)


class OneChangeAtATime(RuleBasedStateMachine):
    """Claims that follow single changes are those of an arbitration of everything at once."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOON
        self.claims = Claims(GRACE)
        self.claims.begin({}, [], now=self.now)
        self.servers: dict[str, Server] = {}
        self.written: Register = {}

    @rule(
        one=st.builds(
            server, st.sampled_from("abcd"), st.sampled_from("pqr"), second=st.integers(0, 3)
        )
    )
    def appears_or_changes(self, one: Server) -> None:
        self.servers[one.id] = one
        self.claims.see(one.id, one, now=self.now)

    @rule(name=st.sampled_from("abcd"))
    def goes_or_becomes_invalid(self, name: str) -> None:
        self.servers.pop(f"n/{name}", None)
        self.claims.see(f"n/{name}", None, now=self.now)

    @rule(minutes=st.sampled_from([1, 30, 59, 60, 61, 200]))
    def time_passes(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)
        self.claims.end_grace(now=self.now)

    @rule()
    def the_register_is_written(self) -> None:
        self.written = self.claims.register
        self.claims.wrote(self.written)

    @precondition(lambda self: self.claims.is_register_right)
    @rule()
    def the_operator_is_restarted(self) -> None:
        before = self.claims.register
        self.claims = Claims(GRACE)
        self.claims.begin(
            register.load(register.dump(self.written)), self.servers.values(), now=self.now
        )

        assert self.claims.register == before
        assert self.claims.is_register_right

    @invariant()
    def one_at_a_time_is_all_at_once(self) -> None:
        ruling = arbitrate(self.servers.values(), self.claims.register, now=self.now)

        assert ruling.register == self.claims.register
        assert ruling.deadline == self.claims.deadline
        for one in self.servers.values():
            assert self.claims.conflict(one) == ruling.conflicts.get(one.id)

    @invariant()
    def what_is_not_written_is_known(self) -> None:
        assert self.claims.is_register_right == (self.claims.register == self.written)


TestOneChangeAtATime = OneChangeAtATime.TestCase


def test_a_change_concerns_those_alone_that_want_the_prefix() -> None:
    claims = Claims(GRACE)
    claims.begin({}, [server("a", "p"), server("b", "q")], now=NOON)

    assert claims.see("n/c", server("c", "p", second=5), now=NOON) == set()
    assert claims.see("n/a", None, now=NOON) == {"n/c"}
    assert claims.end_grace(now=NOON + GRACE) == {"n/c"}


def test_a_holder_counts_once_the_register_names_it() -> None:
    claims = Claims(GRACE)
    one = server("a")
    claims.begin({}, [one], now=NOON)

    assert not claims.is_written(one)
    assert claims.wrote(claims.register) == {"n/a"}
    assert claims.is_written(one)
