"""How a line of the operator's log looks: one JSON object on standard error."""

import logging

from pythonjsonlogger.json import JsonFormatter

_RENAMED = {"levelname": "level", "name": "logger", "exc_info": "exception"}


def begin() -> logging.Logger:
    """Send the log of the process to standard error; returns the operator's own logger.

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
    # The framework warns of what it passes on, object by object.
    logging.getLogger("kopf.objects").setLevel(logging.ERROR)
    logger = logging.getLogger("pointsman_operator")
    logger.setLevel(logging.INFO)
    return logger
