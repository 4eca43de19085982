"""Calls that need no task carry every value as the bytes that it came as."""

import json

import pytest

from bench import answers, expressway
from bench.corpus import VALUES
from bench.expressway import Spell, Takes, legacy, modern, running
from bench.legacy_server import LegacyServer
from bench.modern_server import ModernServer
from bench.raw_upstream import Received, Wire

# Longer arguments are read in a task.
# Halves of surrogate pairs, too: not every reader takes them.
IN_A_TASK = {"a lone surrogate", "two surrogates in the wrong order", "a lone surrogate as a key"}
SHORT = {name: value for name, value in VALUES.items() if len(value) < 8 * 1024}


@pytest.fixture
def takes(monkeypatch: pytest.MonkeyPatch) -> Takes:
    return expressway.recorded(monkeypatch)


@pytest.mark.parametrize("streams", [False, True], ids=["JSON", "event stream"])
@pytest.mark.parametrize("peer", [LegacyServer, ModernServer], ids=["legacy", "modern"])
@pytest.mark.parametrize("spell", [legacy, modern], ids=["legacy agent", "modern agent"])
async def test_not_one_byte_of_a_value_changes_without_a_task(
    takes: Takes, spell: Spell, peer: type[LegacyServer | ModernServer], streams: bool
) -> None:
    value = b""

    async def behave(request: Received, wire: Wire) -> None:
        message = b'{"jsonrpc":"2.0","id":%b,"result":{"content":[%b],"x":%b}}' % (
            json.dumps(request.rpc_id).encode(),
            b'{"type":"text","text":"t","y":%b}' % value,
            value,
        )
        if streams:
            await wire.send(answers.http_in_chunks(200, [answers.event(message)]))
        else:
            await wire.send(answers.http(200, message))

    changed: list[str] = []
    landed: dict[str, bool] = {}
    async with running(takes, peer()) as way, way.port.connected() as agent:
        await way.warm(agent, spell(way.port))
        way.spoil(behave)
        for name, value in SHORT.items():
            before = takes.landed
            arguments = b'{"v":%b}' % value
            answer = await way.ask(
                agent, spell(way.port, "github.search", arguments.decode("utf-8"))
            )
            landed[name] = takes.landed > before
            if b'"x":%b' % value not in answer.body or b'"y":%b}' % value not in answer.body:
                changed.append(f"{name}, in the result")
            if b'"arguments":%b' % arguments not in way.calls[-1].body:
                changed.append(f"{name}, in the arguments")

    assert changed == []
    assert {name for name, has_landed in landed.items() if not has_landed} == IN_A_TASK
