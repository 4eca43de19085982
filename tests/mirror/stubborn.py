"""A mirror whose end takes for ever, made to be ended twice: `python -m mirror.stubborn`."""

import asyncio

from pointsman_mirror import __main__ as program


async def end_never() -> None:
    """Say that it runs, then that it was asked to end, and go on."""
    print("runs", flush=True)
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        print("asked", flush=True)
        await asyncio.Event().wait()


async def main() -> None:
    """Run it as the program runs what it has to end."""
    running = asyncio.ensure_future(end_never())
    program._end_on_signal(running)
    await running


if __name__ == "__main__":
    asyncio.run(main())
