"""Operator, mirror and router as three processes on a real API server."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import ports, processes
from bench.processes import Program

_START_S = 30.0


@dataclass(frozen=True, slots=True)
class Stack:
    """The whole product, running."""

    operator: Program
    mirror: Program
    router: Program
    url: str
    """Where agents call."""
    router_admin: str
    operator_admin: str


@contextmanager
def router(directory: Path, **settings: str) -> Iterator[tuple[Program, str, str]]:
    """Run a router over `directory`: the program, its MCP address, its admin address.

    Settings go by the variable's name without its prefix.
    """
    port, admin = ports.free_port(), ports.free_port()
    environment = {
        "DIRECTORY": str(directory),
        "HOST": ports.LOOPBACK,
        "PORT": str(port),
        "ADMIN_HOST": ports.LOOPBACK,
        "ADMIN_PORT": str(admin),
        "LINGER_SECONDS": "0",
    } | settings
    with Program(
        "router",
        processes.python("pointsman_router"),
        environment={f"POINTSMAN_ROUTER_{name}": value for name, value in environment.items()},
    ) as program:
        admin_url = f"http://{ports.LOOPBACK}:{admin}"
        program.wait_for_url(f"{admin_url}/readyz", _START_S)
        yield program, f"http://{ports.LOOPBACK}:{port}/mcp", admin_url


@contextmanager
def mirror(kubeconfig: Path, namespace: str, directory: Path) -> Iterator[Program]:
    """Run a mirror of `namespace` into `directory`; it has its first generation on entry."""
    admin = ports.free_port()
    with Program(
        "mirror",
        processes.python("pointsman_mirror"),
        environment={
            "KUBECONFIG": str(kubeconfig),
            "POINTSMAN_MIRROR_NAMESPACE": namespace,
            "POINTSMAN_MIRROR_DIRECTORY": str(directory),
            "POINTSMAN_MIRROR_ADMIN_HOST": ports.LOOPBACK,
            "POINTSMAN_MIRROR_ADMIN_PORT": str(admin),
        },
    ) as program:
        program.wait_for_url(f"http://{ports.LOOPBACK}:{admin}/readyz", _START_S)
        yield program


@contextmanager
def operator(
    kubeconfig: Path, namespace: str, *, routers: str = "", **settings: str
) -> Iterator[tuple[Program, str]]:
    """Run an operator that publishes into `namespace`: the program and its admin address."""
    admin = ports.free_port()
    environment = {
        "NAMESPACE": namespace,
        "ROUTERS": routers,
        "ADMIN_HOST": ports.LOOPBACK,
        "ADMIN_PORT": str(admin),
    } | settings
    with Program(
        "operator",
        processes.python("pointsman_operator"),
        environment={
            "KUBECONFIG": str(kubeconfig),
            **{f"POINTSMAN_OPERATOR_{name}": value for name, value in environment.items()},
        },
    ) as program:
        admin_url = f"http://{ports.LOOPBACK}:{admin}"
        program.wait_for_url(f"{admin_url}/readyz", _START_S)
        yield program, admin_url


@contextmanager
def running(kubeconfig: Path, namespace: str, directory: Path) -> Iterator[Stack]:
    """Run all three; `namespace` is the release namespace, `directory` the router's."""
    with ExitStack() as stack:
        mirroring = stack.enter_context(mirror(kubeconfig, namespace, directory))
        routing, url, router_admin = stack.enter_context(router(directory))
        operating, operator_admin = stack.enter_context(
            operator(kubeconfig, namespace, routers=router_admin)
        )
        yield Stack(operating, mirroring, routing, url, router_admin, operator_admin)
