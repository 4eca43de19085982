"""A crowd of agents whose calls all carry the id 1, each on a connection of its own.

python -m bench.crowd PORT NUMBER TOOL prints, when all have their answers, how many were right.
"""

import asyncio
import json
import resource
import sys

from bench.ports import LOOPBACK

_ALL_S = 100.0
# A listener's backlog is shorter than the crowd.
_AT_THE_DOOR = 100


def _request(port: int, tool: str, number: int) -> bytes:
    params = {"name": tool, "arguments": {"text": f"from {number}."}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    body = json.dumps(message).encode()
    head = (
        "POST /mcp HTTP/1.1\r\n"
        f"Host: localhost:{port}\r\n"
        "Content-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _answer(reader: asyncio.StreamReader) -> bytes:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if b"transfer-encoding" in head:
        return await reader.readuntil(b"0\r\n\r\n")
    return await reader.readexactly(int(head.partition(b"content-length:")[2].split(b"\r\n")[0]))


async def main(port: int, number: int, tool: str) -> None:
    """Call with all of them at once, and count."""
    door = asyncio.Semaphore(_AT_THE_DOOR)

    async def one(mine: int) -> bytes | None:
        """What was answered, where it was not this agent's own answer."""
        async with door:
            reader, writer = await asyncio.open_connection(LOOPBACK, port)
        writer.write(_request(port, tool, mine))
        body = await _answer(reader)
        writer.close()
        is_mine = f"from {mine}.".encode() in body and b'"id":1,' in body
        return None if is_mine else body

    async with asyncio.timeout(_ALL_S):
        told = await asyncio.gather(*map(one, range(number)), return_exceptions=True)
    unanswered = [one for one in told if isinstance(one, BaseException)]
    wrong = [one for one in told if isinstance(one, bytes)]
    seen = {"right": told.count(None), "wrong": len(wrong), "unanswered": len(unanswered)}
    if wrong or unanswered:
        print((unanswered or wrong)[0])
    print(json.dumps(seen))


if __name__ == "__main__":
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
