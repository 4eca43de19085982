"""Whom the admin port answers at all, and how little is there."""

import pytest

from bench.adminport import listening, reporting

PATHS = ["/", "/livez", "/readyz", "/metrics", "/status", "/nowhere"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("host", "answered"),
    [
        ("127.0.0.1:9090", True),
        ("10.1.2.3", True),
        ("[::1]:9090", True),
        ("[fd00::5]", True),
        ("localhost", True),
        ("LOCALHOST.:9090", True),
        ("router.localhost:9090", True),
        ("pointsman-admin.tools.svc:9090", True),
        ("Pointsman-Admin.tools.svc.", True),
        ("evil.example", False),
        ("evil.example:9090", False),
        ("127.0.0.1.evil.example", False),
        ("localhost.evil.example", False),
        ("pointsman-admin.tools.svc.evil.example", False),
        ("2130706433", False),
        ("", False),
    ],
)
async def test_t40_only_addresses_and_own_names_are_answered(
    path: str, host: str, answered: bool
) -> None:
    async with listening(reporting(), allowed_hosts=("pointsman-admin.tools.svc",)) as port:
        answer = await port.get(path, Host=host)

    expected = (404 if path == "/nowhere" else 200) if answered else 421
    assert answer.status == expected


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:9090", "null"])
async def test_t40_no_page_of_any_origin_is_answered(path: str, origin: str) -> None:
    async with listening(reporting(), allowed_hosts=("*",)) as port:
        answer = await port.get(path, Origin=origin)

    assert answer.status == 403


async def test_the_check_of_names_can_be_turned_off() -> None:
    async with listening(reporting(), allowed_hosts=("*",)) as port:
        answer = await port.get("/status", Host="anything.example")

    assert answer.status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize("path", PATHS[:-1])
async def test_t41_nothing_here_changes_anything(method: str, path: str) -> None:
    async with listening(reporting()) as port:
        answer = await port.get(path, method=method)

    assert answer.status == 405


@pytest.mark.parametrize(
    "path", ["/index.html", "/favicon.ico", "/debug", "/debug/pprof", "/mcp", "/admin"]
)
async def test_t41_there_is_nothing_else(path: str) -> None:
    async with listening(reporting()) as port:
        answer = await port.get(path)

    assert answer.status == 404
