"""How a line of the router's log looks: one JSON object on standard error."""

import logging

from pythonjsonlogger.json import JsonFormatter

_RENAMED = {"levelname": "level", "name": "logger", "exc_info": "exception"}


def begin() -> logging.Logger:
    """Send the log of the process to standard error; returns the router's own logger.

    Libraries are heard from warnings on. Facts travel in `extra`, never in the message.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(
        JsonFormatter(
            ["levelname", "name", "message"],
            rename_fields=_RENAMED,
            timestamp="time",
            json_ensure_ascii=False,
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logger = logging.getLogger("pointsman_router")
    logger.setLevel(logging.INFO)
    return logger
