"""For how long an upstream asked to be left alone."""

import asyncio
from http import HTTPStatus

from pointsman_router.upstream import trouble
from pointsman_router.upstream.trouble import Trouble


class Throttle:
    """The last wait that an upstream asked for. Needs a running loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._until_s = 0.0

    @property
    def is_on(self) -> bool:
        """Whether it is to be left alone now."""
        return self._until_s > 0.0 and self._until_s > self._loop.time()

    def demand_off(self) -> None:
        """Raise Trouble where it is to be left alone now."""
        if self.is_on:
            raise trouble.throttled(int((self._until_s - self._loop.time()) * 1000) + 1)

    def heed(self, met: Trouble) -> None:
        """Take it into account where trouble is such a wish."""
        if met.status == HTTPStatus.TOO_MANY_REQUESTS and met.retry_after_ms:
            until_s = self._loop.time() + met.retry_after_ms / 1000
            self._until_s = max(self._until_s, until_s)
