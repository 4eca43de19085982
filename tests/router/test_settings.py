"""What the environment makes of the router, and how its mistakes are told."""

import dataclasses
from pathlib import Path

import pytest

from pointsman_contract.environment import InvalidSettings
from pointsman_router import settings
from pointsman_router.listing import Form
from pointsman_router.settings import Settings

PREFIX = "POINTSMAN_ROUTER_"
DEFAULTS = Settings(
    directory=Path("/var/run/pointsman/servers"),
    link_poll_s=0.1,
    files_poll_s=0.5,
    host="0.0.0.0",
    port=8080,
    admin_host="0.0.0.0",
    admin_port=9090,
    listed_names=Form.DOTTED,
    listed_max_length=64,
    allowed_hosts=("localhost", "127.0.0.1", "[::1]"),
    admin_allowed_hosts=("localhost",),
    refresh_s=60.0,
    stale_s=86400.0,
    page_size=1000,
    body_max_bytes=1024 * 1024,
    body_s=30.0,
    silence_s=15.0,
    stall_s=30.0,
    streams_max=1000,
    notify_s=0.4,
    linger_s=5.0,
    drain_s=40.0,
    egress_proxy="",
    no_proxy=("localhost", "127.0.0.0/8", "::1", ".svc", ".cluster.local"),
    server_name="pointsman",
)


def test_a_router_needs_no_settings_at_all() -> None:
    assert settings.load({}) == DEFAULTS


@pytest.mark.parametrize(
    ("name", "text", "field", "value"),
    [
        ("DIRECTORY", "/srv/servers", "directory", Path("/srv/servers")),
        ("LINK_POLL_SECONDS", "0.05", "link_poll_s", 0.05),
        ("FILES_POLL_SECONDS", "2", "files_poll_s", 2.0),
        ("HOST", "127.0.0.1", "host", "127.0.0.1"),
        ("PORT", "0", "port", 0),
        ("ADMIN_HOST", "::1", "admin_host", "::1"),
        ("ADMIN_PORT", "9191", "admin_port", 9191),
        ("NAMES", "safe", "listed_names", Form.SAFE),
        ("NAMES_MAX_LENGTH", "60", "listed_max_length", 60),
        ("ALLOWED_HOSTS", "pointsman.tools.svc, *", "allowed_hosts", ("pointsman.tools.svc", "*")),
        ("ADMIN_ALLOWED_HOSTS", "admin", "admin_allowed_hosts", ("admin",)),
        ("REFRESH_SECONDS", "5", "refresh_s", 5.0),
        ("PAGE_SIZE", "50", "page_size", 50),
        ("STALE_SECONDS", "0", "stale_s", 0.0),
        ("BODY_MAX_BYTES", "2048", "body_max_bytes", 2048),
        ("BODY_SECONDS", "3", "body_s", 3.0),
        ("SILENCE_SECONDS", "20", "silence_s", 20.0),
        ("STALL_SECONDS", "60", "stall_s", 60.0),
        ("SUBSCRIPTIONS_MAX", "0", "streams_max", 0),
        ("NOTIFY_SECONDS", "0.5", "notify_s", 0.5),
        ("LINGER_SECONDS", "0", "linger_s", 0.0),
        ("DRAIN_SECONDS", "0", "drain_s", 0.0),
        ("EGRESS_PROXY", "http://proxy:3128", "egress_proxy", "http://proxy:3128"),
        ("NO_PROXY", ".svc, 10.0.0.0/8", "no_proxy", (".svc", "10.0.0.0/8")),
        ("SERVER_NAME", "tools of Zoë's team", "server_name", "tools of Zoë's team"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isupper() else "",
)
def test_every_variable_sets_its_field(name: str, text: str, field: str, value: object) -> None:
    assert settings.load({PREFIX + name: text}) == dataclasses.replace(DEFAULTS, **{field: value})  # type: ignore[arg-type]  # the field's own type


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        pytest.param("DIRECTORY", "here", "must be an absolute path", id="relative directory"),
        pytest.param("PORT", "65536", "must be a whole number from 0 to 65535", id="port"),
        pytest.param("NAMES", "Safe", "must be dotted or safe", id="form in capitals"),
        pytest.param("NAMES", "bare", "must be dotted or safe", id="form of one server"),
        pytest.param(
            "NAMES_MAX_LENGTH", "31", "must be a whole number from 32 to 128", id="short names"
        ),
        pytest.param("REFRESH_SECONDS", "0", "must be a number of seconds from 1", id="no pause"),
        pytest.param(
            "STALE_SECONDS",
            "2592001",
            "must be a number of seconds from 0 to 2592000",
            id="stale for longer than a month",
        ),
        pytest.param("PAGE_SIZE", "0", "must be a whole number from 1 to 10000", id="no page"),
        pytest.param("EGRESS_PROXY", "proxy:3128", "must begin with http", id="no scheme"),
        pytest.param("EGRESS_PROXY", "http://a:b@p", "must not hold a user", id="credentials"),
        pytest.param("NO_PROXY", "10.0.0.0/99", "must hold host names", id="no network"),
        pytest.param("NO_PROXY", "a:80", "must not hold a:80: write a,", id="a port"),
        pytest.param("SERVER_NAME", "a\r\nb", "must be one printable line", id="two lines"),
        pytest.param("SERVER_NAME", "x" * 129, "must be one printable line", id="a long name"),
    ],
)
def test_a_mistake_names_its_variable_and_what_may_stand_there(
    name: str, text: str, complaint: str
) -> None:
    with pytest.raises(InvalidSettings) as refused:
        settings.load({PREFIX + name: text})

    (mistake,) = refused.value.mistakes
    assert mistake.startswith(f"{PREFIX}{name}: {complaint}")


def test_the_table_names_every_variable_that_may_be_set() -> None:
    lines = settings.table().splitlines()

    assert len(lines) == len(dataclasses.fields(Settings))
    assert all(line.startswith(PREFIX) for line in lines)
