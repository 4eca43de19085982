"""What stands between a load and its upstream, and what it takes of the processor."""

import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from bench import stack  # noqa: E402 - found by the line above
from bench.ports import LOOPBACK, free_port  # noqa: E402
from bench.processes import Program  # noqa: E402

_START_S = 30.0
_TICK_US = 1e6 / os.sysconf("SC_CLK_TCK")
# Debian keeps it where only root's PATH looks.
_SBIN = "/usr/sbin:/sbin"

# As a plain reverse proxy is set up: connections kept on both sides, nothing logged, and room
# for the largest answer, so that none goes over a file.
_NGINX = """
daemon off; worker_processes 1; pid {folder}/pid; error_log stderr error;
events {{ worker_connections 1024; }}
http {{
  access_log off; keepalive_requests 100000000; keepalive_timeout 75s;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  client_body_buffer_size 1m; client_max_body_size 16m;
  proxy_buffer_size 16k; proxy_buffers 40 16k; proxy_busy_buffers_size 64k;
  upstream there {{ server {upstream}; keepalive 256; keepalive_requests 100000000; }}
  server {{
    listen {host}:{port};
    location / {{
      proxy_pass http://there; proxy_http_version 1.1; proxy_set_header Connection "";
    }}
  }}
}}
"""


@dataclass(frozen=True, slots=True)
class Proxy:
    """One running proxy, or nothing where the upstream is called directly."""

    name: str
    url: str
    program: Program | None = None

    def cpu_us(self) -> float:
        """What the whole process tree has taken of the processor so far."""
        return sum(map(_cpu_us, _tree(self.program.pid))) if self.program else 0.0

    def rss_mib(self) -> float:
        """What the process holds in memory."""
        return self.program.rss_mib if self.program else 0.0


def nginx_binary() -> str | None:
    """Where nginx is, if it is here."""
    return shutil.which("nginx", path=f"{os.environ.get('PATH', os.defpath)}:{_SBIN}")


@contextmanager
def nginx(binary: str, folder: Path, upstream_port: int) -> Iterator[Proxy]:
    """Run nginx as a plain reverse proxy in front of that port."""
    port = free_port()
    folder.mkdir()
    configuration = folder / "nginx.conf"
    configuration.write_text(
        _NGINX.format(
            folder=folder, host=LOOPBACK, port=port, upstream=f"{LOOPBACK}:{upstream_port}"
        )
    )
    command = [binary, "-e", "stderr", "-p", str(folder), "-c", str(configuration)]
    with Program("nginx", command) as program:
        program.wait_for_port(port, _START_S)
        yield Proxy("nginx", f"http://{LOOPBACK}:{port}", program)


@contextmanager
def router(name: str, directory: Path, **settings: str) -> Iterator[Proxy]:
    """Run the router over that directory."""
    with stack.router(directory, **settings) as (program, url, _):
        yield Proxy(name, url, program)


@contextmanager
def peer(name: str, command: str, upstream: str) -> Iterator[Proxy]:
    """Run another router: `{upstream}` in its command is the URL behind it, `{port}` its port."""
    port = free_port()
    filled = command.replace("{upstream}", upstream).replace("{port}", str(port))
    with Program(name, shlex.split(filled)) as program:
        program.wait_for_port(port, _START_S)
        yield Proxy(name, f"http://{LOOPBACK}:{port}/mcp", program)


def _tree(root: int) -> list[int]:
    """The process and everything under it that runs now."""
    parents: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (fields := _stat(int(entry))):
            parents.setdefault(int(fields[1]), []).append(int(entry))
    found = [root]
    for pid in found:
        found += parents.get(pid, [])
    return found


def _cpu_us(pid: int) -> float:
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) * _TICK_US if fields else 0.0


def _stat(pid: int) -> list[str]:
    """The fields of one process behind its name; none when it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
