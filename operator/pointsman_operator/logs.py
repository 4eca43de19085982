"""How a line of the operator's log looks: one JSON object on standard error."""

import json
import logging
import sys
from datetime import UTC, datetime

LOGGER = "pointsman_operator"

# The framework tells of every event that it passed on, and of every attempt of its requests.
_QUIET = {"kopf.objects": logging.ERROR, "kopf": logging.WARNING, "asyncio": logging.WARNING}


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def begin() -> logging.Logger:
    """Send every log line of the process to standard error; returns the operator's own logger."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    for name, level in _QUIET.items():
        logging.getLogger(name).setLevel(level)
    logger = logging.getLogger(LOGGER)
    logger.setLevel(logging.INFO)
    return logger


def say(logger: logging.Logger, level: int, message: str, **facts: object) -> None:
    """Log one line with its facts beside the message."""
    logger.log(level, message, extra={"facts": facts})
