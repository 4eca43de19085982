"""What the prefix register remembers."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman_contract import names, register
from pointsman_contract.register import Claim, InvalidRegister

PREFIXES = st.from_regex(names.PREFIX_PATTERN, fullmatch=True).filter(names.is_prefix)
TIMES = st.datetimes(timezones=st.just(UTC))
CLAIMS = st.builds(Claim, st.text(min_size=1, max_size=20), st.none() | TIMES)


@given(st.dictionaries(PREFIXES, CLAIMS, max_size=8))
def test_what_is_written_is_read_back(claims: dict[str, Claim]) -> None:
    assert register.load(register.dump(claims)) == claims


@given(st.dictionaries(PREFIXES, CLAIMS, max_size=8))
def test_equal_claims_are_written_alike_in_any_order(claims: dict[str, Claim]) -> None:
    backwards = dict(reversed(claims.items()))

    assert register.dump(claims) == register.dump(backwards)


def test_the_text_is_as_readers_of_any_version_know_it() -> None:
    text = register.dump(
        {
            "slack": Claim("tools/slack"),
            "github": Claim("tools/github", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        }
    )

    assert text == (
        "{\n"
        '  "github": {"releasedAt": "2026-01-02T03:04:05+00:00", "server": "tools/github"},\n'
        '  "slack": {"server": "tools/slack"}\n'
        "}\n"
    )


def test_no_claims_are_an_empty_register() -> None:
    assert register.load(register.dump({})) == {}


@pytest.mark.parametrize(
    ("spelled", "released_at"),
    [
        pytest.param("2026-01-02T03:04:05Z", timedelta(0), id="in UTC"),
        pytest.param("2026-01-02T05:04:05+02:00", timedelta(0), id="in another zone"),
        pytest.param("2026-01-02T03:04:05", timedelta(0), id="without a zone, which means UTC"),
    ],
)
def test_a_time_is_read_however_it_is_spelled(spelled: str, released_at: timedelta) -> None:
    claims = register.load(f'{{"a": {{"server": "n/a", "releasedAt": "{spelled}"}}}}')

    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(released_at))
    assert claims == {"a": Claim("n/a", moment)}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("{", id="half a document"),
        pytest.param("[]", id="a list"),
        pytest.param('{"a": "n/a"}', id="a claim that is a string"),
        pytest.param('{"a": {}}', id="a claim without a server"),
        pytest.param('{"a": {"server": 1}}', id="a server that is a number"),
        pytest.param('{"A": {"server": "n/a"}}', id="a key that is no prefix"),
        pytest.param('{"a": {"server": "n/a"}, "a": {"server": "n/b"}}', id="a prefix twice"),
        pytest.param('{"a": {"server": "n/a", "releasedAt": "soon"}}', id="a time that is none"),
        pytest.param('{"a": {"server": "n/a", "releasedAt": 5}}', id="a time that is a number"),
        pytest.param(
            '{"a": {"server": "n/a", "releasedAt": 20260102}}', id="a number that spells a date"
        ),
        pytest.param('{"a": {"server": "\ud800"}}', id="half of a surrogate pair"),
    ],
)
def test_a_register_that_cannot_be_trusted_is_refused_as_a_whole(text: str) -> None:
    with pytest.raises(InvalidRegister):
        register.load(text)


def test_an_unknown_member_of_a_claim_is_left_to_later_versions() -> None:
    assert register.load('{"a": {"server": "n/a", "since": 5}}') == {"a": Claim("n/a")}
