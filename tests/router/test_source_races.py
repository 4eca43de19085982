"""What a reader sees while the directory is swapped under it."""

import asyncio
import threading
import time
from pathlib import Path

from bench.directories import URL, Follower, Mount, document
from pointsman_router.source import Source


async def test_f84_readings_are_whole_however_fast_generations_follow(tmp_path: Path) -> None:
    servers, wanted = 10, 25
    mount, ended = Mount(tmp_path), threading.Event()

    def swap() -> None:
        number = 1
        while not ended.is_set():
            mount.write(
                {f"s{folder}/meta.json": document(generation=number) for folder in range(servers)}
            )
            number += 1

    mount.write({"s0/meta.json": document(generation=0)})
    source = Source(str(tmp_path), link_poll_s=0.01)
    await asyncio.wait_for(source.next(), 5)
    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        readings = [await asyncio.wait_for(source.next(), 5) for _ in range(wanted)]
    finally:
        ended.set()
        swapping.join()

    for reading in readings:
        metas = [entry.meta for entry in reading.entries.values()]
        assert reading.fault is None
        assert len(metas) == servers
        assert len({meta.generation for meta in metas if meta}) == 1


def test_f85_a_mount_swapped_under_the_reader_is_read_whole_every_time(tmp_path: Path) -> None:
    servers, reads = 20, 1_500
    mount, ended = Mount(tmp_path), threading.Event()

    def files(number: int) -> dict[str, bytes]:
        return {
            f"s{folder}/meta.json": document(generation=number, url=f"{URL}/{number}")
            for folder in range(servers)
        }

    def swap() -> None:
        number = 1
        while not ended.is_set():
            mount.write(files(number))
            number += 1

    mount.write(files(0))
    follower = Follower(tmp_path)
    swapping = threading.Thread(target=swap)
    swapping.start()
    bad: list[str] = []
    seen: set[int | None] = set()
    try:
        deadline_s = time.monotonic() + 30
        while (reads > 0 or len(seen) < 30) and time.monotonic() < deadline_s:
            reads -= 1
            registry = follower.look()
            metas = [server.meta for server in registry.servers.values() if server.meta]
            generations = {meta.generation for meta in metas}
            faults = [server.fault for server in registry.servers.values() if server.fault]
            if len(metas) != servers or len(generations) != 1 or faults:
                bad.append(f"{len(metas)} servers of generations {generations}: {faults}")
            seen |= generations
    finally:
        ended.set()
        swapping.join()

    assert not bad
    assert reads <= 0
    assert len(seen) >= 30
