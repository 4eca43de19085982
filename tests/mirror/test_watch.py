"""What is heard of the API server, through every fault of its answers."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import TypeVar

import pytest

from bench import kubeconfig
from bench.cluster_api import CONFIG_MAP, ClusterApi
from bench.controlplane import ControlPlane
from bench.waiting import until
from mirror import proxy as faulty
from mirror.proxy import Fault, Proxy
from mirror.published import config_map, view_config_map
from pointsman_contract import labels
from pointsman_mirror import watch
from pointsman_mirror.hearing import (
    Cause,
    Changed,
    Event,
    Gone,
    Item,
    Listed,
    Trouble,
    Unchanged,
)
from pointsman_mirror.layout import Published

E = TypeVar("E", bound=Event)

DEADLINE_S = 10.0
GITHUB = labels.config_map_name("tools", "github")
SEARCH = labels.config_map_name("tools", "search")


class Ear:
    """A stream of events, asked one by one."""

    def __init__(self, events: AsyncIterator[Event]) -> None:
        self._events = events

    async def next(self, kind: type[E]) -> E:
        """The next event but bookmarks, which must be of this kind."""
        async with asyncio.timeout(DEADLINE_S):
            while isinstance(event := await anext(self._events), Unchanged):
                pass
        assert isinstance(event, kind), event
        return event


@pytest.fixture
async def proxy(mirror_kubeconfig: Path) -> AsyncIterator[Proxy]:
    async with faulty.before(kubeconfig.read(mirror_kubeconfig)) as proxy:
        yield proxy


Hears = Callable[..., Awaitable[Ear]]


@pytest.fixture
async def hears(
    proxy: Proxy, mirror_kubeconfig: Path, release_namespace: str, tmp_path: Path
) -> AsyncIterator[Hears]:
    """Begin to follow the release namespace through the proxy."""
    access = kubeconfig.read(mirror_kubeconfig)
    path = faulty.kubeconfig_through(proxy, access, tmp_path / "through-proxy")
    streams = []

    async def begin(*, page_size: int = 100, silence_s: float = 70.0) -> Ear:
        source = watch.Source(release_namespace, str(path), page_size, silence_s, retry_max_s=0.5)
        streams.append(watch.events(source))
        return Ear(streams[-1])

    yield begin
    for stream in streams:
        await stream.aclose()


def document_of(item: Item) -> str:
    assert isinstance(item, Published)
    return item.document


async def publish(cluster: ClusterApi, release: str, name: str, *, suspend: bool = False) -> None:
    await cluster.apply(CONFIG_MAP, config_map("tools", name, release=release, suspend=suspend))


async def test_the_whole_set_comes_first_then_each_change(
    hears: Hears, cluster: ClusterApi, release_namespace: str
) -> None:
    await publish(cluster, release_namespace, "github")
    ear = await hears()

    assert list((await ear.next(Listed)).items) == [GITHUB]

    await publish(cluster, release_namespace, "search")

    assert (await ear.next(Changed)).object_name == SEARCH

    await publish(cluster, release_namespace, "search", suspend=True)

    assert '"suspend": true' in document_of((await ear.next(Changed)).item)

    await cluster.delete(CONFIG_MAP, GITHUB, release_namespace)

    assert (await ear.next(Gone)).object_name == GITHUB


async def test_an_object_that_loses_its_label_is_gone_and_one_that_gets_it_has_come(
    hears: Hears, cluster: ClusterApi, release_namespace: str
) -> None:
    await publish(cluster, release_namespace, "github")
    ear = await hears()
    await ear.next(Listed)

    async def relabel(version: str | None) -> None:
        patch = {"metadata": {"labels": {labels.META: version}}}
        await cluster.patch(CONFIG_MAP, GITHUB, patch, release_namespace)

    await relabel(None)

    assert (await ear.next(Gone)).object_name == GITHUB

    await relabel(labels.META_VERSION)

    assert (await ear.next(Changed)).object_name == GITHUB

    await relabel("v2")

    assert (await ear.next(Gone)).object_name == GITHUB


async def test_views_are_followed_by_the_same_list_and_watch(
    hears: Hears, proxy: Proxy, cluster: ClusterApi, release_namespace: str
) -> None:
    support = view_config_map("tools", "support", release=release_namespace)
    await publish(cluster, release_namespace, "github")
    await cluster.apply(CONFIG_MAP, support)
    ear = await hears()
    listed = await ear.next(Listed)

    assert {item.is_view for item in listed.items.values() if isinstance(item, Published)} == {
        *(True, False)
    }

    other = view_config_map("tools", "other", release=release_namespace)
    await cluster.apply(CONFIG_MAP, other)
    changed = await ear.next(Changed)

    assert isinstance(changed.item, Published)
    assert (changed.item.name, changed.item.is_view) == ("other", True)

    stranger = config_map("tools", "other", release=release_namespace)
    stranger["metadata"]["labels"][labels.META] = "view-v2"
    await cluster.apply(CONFIG_MAP, stranger)
    await cluster.delete(CONFIG_MAP, other["metadata"]["name"], release_namespace)

    assert (await ear.next(Gone)).object_name == other["metadata"]["name"]
    queries = [*proxy.lists, *proxy.watches]
    assert {query["labelSelector"] for query in queries} == {"pointsman.dev/meta in (v1,view-v1)"}


async def test_a_long_list_is_read_page_by_page(
    hears: Hears, proxy: Proxy, cluster: ClusterApi, release_namespace: str
) -> None:
    for number in range(7):
        await publish(cluster, release_namespace, f"s{number}")
    ear = await hears(page_size=3)

    assert len((await ear.next(Listed)).items) == 7
    assert [query["limit"] for query in proxy.lists] == ["3", "3", "3"]
    assert {query["labelSelector"] for query in proxy.lists} == {labels.SELECTOR}


async def test_a_page_that_expires_half_way_begins_the_list_anew(
    hears: Hears, proxy: Proxy, cluster: ClusterApi, release_namespace: str
) -> None:
    for number in range(4):
        await publish(cluster, release_namespace, f"s{number}")
    proxy.list_faults.extend([faulty.text(await _page(cluster, release_namespace))])
    proxy.list_faults.append(faulty.status(410))
    ear = await hears(page_size=2)

    assert (await ear.next(Trouble)).cause is Cause.EXPIRED
    assert len((await ear.next(Listed)).items) == 4


async def _page(cluster: ClusterApi, namespace: str) -> str:
    items = (await cluster.list(CONFIG_MAP, namespace, labels.SELECTOR))[:2]
    return json.dumps({"metadata": {"continue": "there", "resourceVersion": "1"}, "items": items})


async def test_a_watch_that_ends_in_its_time_goes_on_where_it_was(
    hears: Hears, proxy: Proxy, cluster: ClusterApi, release_namespace: str
) -> None:
    ear = await hears()
    await ear.next(Listed)
    await publish(cluster, release_namespace, "github")
    await ear.next(Changed)
    proxy.end_streams()
    await publish(cluster, release_namespace, "search")

    assert (await ear.next(Changed)).object_name == SEARCH
    assert len(proxy.lists) == 1
    assert len(proxy.watches) == 2
    assert proxy.watches[0]["resourceVersion"] != proxy.watches[1]["resourceVersion"]


NOT_JSON = '{"type": "ADDED", "object": {'
NO_VERSION = '{"type": "ADDED", "object": {"metadata": {"name": "x"}}}\n'
STRANGE = '{"type": "MOVED", "object": {"metadata": {"name": "x", "resourceVersion": "1"}}}\n'


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        pytest.param(faulty.error_event(410), Cause.EXPIRED, id="410 in the stream"),
        pytest.param(faulty.status(410), Cause.EXPIRED, id="410 as status"),
        pytest.param(faulty.error_event(500), Cause.API_ERROR, id="500 in the stream"),
        pytest.param(faulty.status(500), Cause.API_ERROR, id="500 as status"),
        pytest.param(faulty.status(401), Cause.UNAUTHORIZED, id="401"),
        pytest.param(faulty.status(403), Cause.FORBIDDEN, id="403"),
        pytest.param(faulty.status(404), Cause.API_ERROR, id="404"),
        pytest.param(faulty.status(429, Retry_After="0"), Cause.THROTTLED, id="429"),
        pytest.param(faulty.text(""), Cause.CLOSED, id="ended at once"),
        pytest.param(faulty.text(NOT_JSON + "\n"), Cause.MALFORMED, id="half an event"),
        pytest.param(faulty.text("[]\n"), Cause.MALFORMED, id="no object"),
        pytest.param(faulty.text('{"type": "ADDED"}\n'), Cause.MALFORMED, id="an empty event"),
        pytest.param(faulty.text(NO_VERSION), Cause.MALFORMED, id="an event without version"),
        pytest.param(faulty.text(STRANGE), Cause.MALFORMED, id="an event of an unknown type"),
        pytest.param(faulty.cut(NOT_JSON), Cause.UNREACHABLE, id="cut within an event"),
        pytest.param(faulty.cut(""), Cause.UNREACHABLE, id="cut before the first event"),
    ],
)
async def test_a_watch_that_fails_is_followed_by_a_new_list_that_misses_nothing(
    fault: Fault,
    cause: Cause,
    hears: Hears,
    proxy: Proxy,
    cluster: ClusterApi,
    release_namespace: str,
) -> None:
    await publish(cluster, release_namespace, "github")
    ear = await hears()
    proxy.watch_faults.append(fault)
    await ear.next(Listed)
    trouble = asyncio.ensure_future(ear.next(Trouble))
    await until(lambda: proxy.watches, what="the watch is asked for")
    await cluster.delete(CONFIG_MAP, GITHUB, release_namespace)
    await publish(cluster, release_namespace, "search")

    assert (await trouble).cause is cause
    assert list((await ear.next(Listed)).items) == [SEARCH]

    await publish(cluster, release_namespace, "github")

    assert (await ear.next(Changed)).object_name == GITHUB


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        pytest.param(faulty.status(403), Cause.FORBIDDEN, id="403"),
        pytest.param(faulty.status(503), Cause.API_ERROR, id="503"),
        pytest.param(faulty.text("<html>"), Cause.MALFORMED, id="no JSON"),
        pytest.param(faulty.text("{}"), Cause.MALFORMED, id="no list"),
        pytest.param(faulty.text('{"metadata": {}, "items": [{}]}'), Cause.MALFORMED, id="nobody"),
        pytest.param(faulty.cut('{"items": ['), Cause.UNREACHABLE, id="cut"),
    ],
)
async def test_a_list_that_fails_says_nothing_about_the_set(
    fault: Fault,
    cause: Cause,
    hears: Hears,
    proxy: Proxy,
    cluster: ClusterApi,
    release_namespace: str,
) -> None:
    await publish(cluster, release_namespace, "github")
    proxy.list_faults.append(fault)
    ear = await hears()

    assert (await ear.next(Trouble)).cause is cause
    assert list((await ear.next(Listed)).items) == [GITHUB]


async def test_a_silent_watch_is_given_up_and_what_it_hid_is_heard(
    hears: Hears, proxy: Proxy, cluster: ClusterApi, release_namespace: str
) -> None:
    proxy.watch_faults.append(faulty.silence())
    ear = await hears(silence_s=1.0)
    await ear.next(Listed)
    trouble = asyncio.ensure_future(ear.next(Trouble))
    await until(lambda: proxy.watches, what="the watch is asked for")
    await publish(cluster, release_namespace, "github")

    assert (await trouble).cause is Cause.SILENT
    assert list((await ear.next(Listed)).items) == [GITHUB]


async def test_an_asked_for_pause_is_kept(hears: Hears, proxy: Proxy) -> None:
    proxy.list_faults.append(faulty.status(429, Retry_After="1"))
    ear = await hears()
    trouble = await ear.next(Trouble)
    clock = asyncio.get_running_loop().time
    before_s = clock()
    await ear.next(Listed)

    assert trouble.retry_in_s == 1.0
    assert clock() - before_s >= 0.99


async def test_an_unreachable_api_server_is_heard_as_soon_as_it_is_back(
    hears: Hears, proxy: Proxy, cluster: ClusterApi, release_namespace: str
) -> None:
    ear = await hears()
    await ear.next(Listed)
    first = asyncio.ensure_future(ear.next(Trouble))
    await until(lambda: proxy.open_streams, what="the watch runs")
    await proxy.stop()
    await first
    for _ in range(3):
        assert (await ear.next(Trouble)).cause is Cause.UNREACHABLE
    await publish(cluster, release_namespace, "github")
    await proxy.start()
    async with asyncio.timeout(DEADLINE_S):
        while not isinstance(event := await anext(ear._events), Listed):
            pass

    assert list(event.items) == [GITHUB]


async def test_an_object_as_large_as_they_come_passes_through_list_and_watch(
    hears: Hears, control_plane: ControlPlane, release_namespace: str
) -> None:
    # Each character takes six bytes in JSON: close to the largest request that is accepted.
    text = "\x01" * 450_000
    body = config_map("tools", "github", text, release=release_namespace)
    ear = await hears()
    await ear.next(Listed)
    path = f"/api/v1/namespaces/{release_namespace}/configmaps"
    await asyncio.to_thread(control_plane.request, "POST", path, body)
    listing = await hears()

    assert document_of((await ear.next(Changed)).item) == text
    assert document_of((await listing.next(Listed)).items[GITHUB]) == text


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(None, id="none there"),
        pytest.param("", id="an empty one"),
        pytest.param("{", id="one that is no YAML"),
        pytest.param("clusters: []", id="one without a context"),
        pytest.param("- clusters", id="a list"),
        pytest.param("clusters: 5\ncontexts: 5", id="one of numbers"),
    ],
)
async def test_a_kubeconfig_that_says_nothing_is_named_and_read_again(
    content: str | None, mirror_kubeconfig: Path, release_namespace: str, tmp_path: Path
) -> None:
    path = tmp_path / "kubeconfig"
    if content is not None:
        path.write_text(content)
    source = watch.Source(release_namespace, str(path), 100, 70.0, 0.5)
    async with aclosing(watch.events(source)) as events:
        ear = Ear(events)
        trouble = await ear.next(Trouble)
        await asyncio.to_thread(shutil.copyfile, mirror_kubeconfig, path)

        assert trouble.cause is Cause.CONFIGURATION
        assert (await ear.next(Listed)).items == {}


def test_pauses_double_from_a_short_one_to_the_longest_and_are_spread() -> None:
    shortest = [watch.pause(failures, 2.0, 0.0) for failures in range(1, 7)]
    longest = [watch.pause(failures, 2.0, 1.0) for failures in range(1, 7)]

    assert shortest == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    assert longest == [0.2, 0.4, 0.8, 1.6, 2.0, 2.0]
    assert watch.pause(10_000, 2.0, 0.5) == 1.5


async def test_a_watch_that_hears_nothing_but_faults_waits_longer_each_time(
    hears: Hears, proxy: Proxy
) -> None:
    proxy.watch_faults.extend([faulty.error_event(410)] * 6)
    ear = await hears()
    pauses_s = []
    for _ in range(6):
        await ear.next(Listed)
        pauses_s.append((await ear.next(Trouble)).retry_in_s)

    # Otherwise an API server that has lost its history is asked in a tight circle.
    assert pauses_s[-1] >= 0.25 > pauses_s[0]
