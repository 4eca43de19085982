"""What the framework's events lead to: nothing but news for the intake."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import kopf

from pointsman_contract import labels
from pointsman_operator.intake import Intake

# Refused credentials that a file still holds must not be offered again and again in a loop.
LOGIN_INTERVAL_S = 2.0

Login = Callable[[], Awaitable[kopf.AiohttpSession]]


def of_resources(intake: Intake, login: Login) -> kopf.OperatorRegistry:
    """Return what is done about events of McpServers."""
    registry = _registry(login)

    @kopf.on.event(labels.GROUP, labels.VERSION, labels.PLURAL, registry=registry)
    async def resource(event: Mapping[str, Any], **_: object) -> None:
        intake.resource(event["object"], deleted=event["type"] == "DELETED")

    return registry


def of_views(intake: Intake, login: Login) -> kopf.OperatorRegistry:
    """Return what is done about events of McpViews."""
    registry = _registry(login)

    @kopf.on.event(labels.GROUP, labels.VERSION, labels.VIEW_PLURAL, registry=registry)
    async def view(event: Mapping[str, Any], **_: object) -> None:
        intake.view(event["object"], deleted=event["type"] == "DELETED")

    return registry


def of_config_maps(intake: Intake, login: Login) -> kopf.OperatorRegistry:
    """Return what is done about events of our ConfigMaps."""
    registry = _registry(login)

    @kopf.on.event("", "v1", "configmaps", registry=registry)
    async def config_map(event: Mapping[str, Any], **_: object) -> None:
        intake.config_map(event["object"], deleted=event["type"] == "DELETED")

    return registry


def _registry(login: Login) -> kopf.OperatorRegistry:
    registry = kopf.OperatorRegistry()
    last_s = float("-inf")

    @kopf.on.login(registry=registry, backoff=LOGIN_INTERVAL_S)
    async def log_in(**_: object) -> kopf.AiohttpSession:
        nonlocal last_s
        clock = asyncio.get_running_loop().time
        await asyncio.sleep(max(0.0, last_s + LOGIN_INTERVAL_S - clock()))
        last_s = clock()
        return await login()

    return registry
