"""What is known of the cluster, whichever way and in whichever order the news came."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import admission
from bench.admission import body
from pointsman_contract import labels
from pointsman_operator import seen
from pointsman_operator.claims import Claims
from pointsman_operator.conditions import Refused
from pointsman_operator.intake import REGISTER, Intake
from pointsman_operator.pace import Pace
from pointsman_operator.seen import ConfigMap, Resource, Unrecognisable
from pointsman_operator.spec import Server
from pointsman_operator.store import Sights, Store
from pointsman_operator.workqueue import WorkQueue

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def resource(name: str, version: int = 1, *, uid: str = "", **spec: Any) -> dict[str, Any]:
    one = body(name, **spec)
    one["metadata"] |= {
        "uid": uid or f"uid-{name}",
        "resourceVersion": str(version),
        "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    return one


def config_map(name: str, version: int = 1, **metadata: Any) -> dict[str, Any]:
    labelled = {labels.META: labels.META_VERSION}
    plain = {"name": name, "uid": f"uid-{name}", "resourceVersion": str(version)}
    return {"metadata": plain | {"labels": labelled} | metadata, "data": {"meta.json": "{}"}}


def key(name: str) -> str:
    return labels.config_map_name("default", name)


def labelled(name: str, version: int = 1, **its_labels: str) -> dict[str, Any]:
    one = resource(name, version)
    one["metadata"]["labels"] = its_labels
    return one


def view(name: str, version: int = 1, **spec: Any) -> dict[str, Any]:
    one = admission.view(name, **spec)
    one["metadata"] |= {"uid": f"uid-view-{name}", "resourceVersion": str(version), "generation": 1}
    return one


def view_key(name: str) -> str:
    return labels.view_config_map_name("default", name)


def selecting(name: str, **wanted: str) -> dict[str, Any]:
    return view(name, servers={"selector": {"matchLabels": wanted}})


class Desk:
    """An intake with everything that it keeps."""

    def __init__(self) -> None:
        self.store = Store()
        self.claims = Claims(timedelta(hours=1))
        self.queue = WorkQueue()
        pace = Pace(repair_interval_s=10, settled_after_s=10)
        self.intake = Intake(self.store, self.claims, self.queue, pace, clock=lambda: NOW)

    def due(self) -> set[str]:
        """The keys that are to be looked at; none of them any more afterwards."""
        keys = set(self.queue._due)
        self.queue._due.clear()
        return keys

    def lists(
        self,
        resources: Iterable[dict[str, Any]],
        config_maps: Iterable[dict[str, Any]] = (),
        version: int = 10,
    ) -> None:
        self.intake.listed(
            [seen.resource(one) for one in resources],
            version,
            [seen.config_map(one) for one in config_maps],
            version,
        )


async def test_a_new_resource_is_looked_at_and_so_is_the_register() -> None:
    desk = Desk()
    desk.intake.resource(resource("a"))

    assert desk.due() == {key("a"), REGISTER}


async def test_what_is_no_news_is_not_looked_at() -> None:
    desk = Desk()
    desk.intake.resource(resource("a", 5))
    desk.intake.config_map(config_map(key("a"), 5))
    desk.due()
    desk.intake.resource(resource("a", 5))
    desk.intake.resource(resource("a", 4, prefix="older"))
    desk.intake.config_map(config_map(key("a"), 4))

    assert desk.due() == set()
    known = desk.store.resources.get(key("a"))
    assert known is not None
    assert isinstance(known.wish, Server)
    assert known.wish.prefix == "a"


async def test_whom_a_change_of_prefix_concerns_is_looked_at() -> None:
    desk = Desk()
    for name in ("a", "b"):
        desk.intake.resource(resource(name, prefix="p"))
    desk.claims.wrote(desk.claims.register)
    desk.due()
    desk.intake.resource(resource("a", 2, prefix="q"))

    assert desk.due() == {key("a"), key("b"), REGISTER}


async def test_an_edit_that_a_status_answer_brings_is_looked_at_though_the_spec_stays_wrong() -> (
    None
):
    desk = Desk()
    wrong = resource("a", 1, url="ftp://x"), resource("a", 2, url="ftp://x", timeoutSeconds=9)
    empty = view("v", 1, servers={}), view("v", 2, servers={}, names="Bare")
    desk.intake.resource(wrong[0])
    desk.intake.view(empty[0])
    desk.due()
    for one in (wrong[1], empty[1]):
        one["metadata"]["generation"] = 2
    desk.intake.answered(wrong[1])
    desk.intake.view_answered(empty[1])

    assert desk.due() == {key("a"), view_key("v")}


async def test_the_answer_to_a_write_of_a_status_is_no_reason_to_look_again() -> None:
    desk = Desk()
    desk.intake.resource(resource("a", 1))
    desk.due()
    desk.intake.answered({**resource("a", 2), "status": {"toolCount": 1}})
    desk.intake.resource({**resource("a", 2), "status": {"toolCount": 1}})

    assert desk.due() == set()


async def test_the_answer_to_a_write_of_a_status_may_bring_a_new_wish() -> None:
    desk = Desk()
    desk.intake.resource(resource("a", 1))
    desk.due()
    desk.intake.answered(resource("a", 2, prefix="q"))

    assert desk.due() == {key("a"), REGISTER}


async def test_a_config_map_that_leaves_our_sight_is_doubtful() -> None:
    desk = Desk()
    desk.intake.config_map(config_map(key("a"), 5))
    desk.due()
    desk.intake.config_map(config_map(key("a"), 6), deleted=True)

    assert desk.due() == {key("a")}
    assert desk.store.doubtful == {key("a")}


async def test_an_old_goodbye_does_not_take_what_is_new() -> None:
    desk = Desk()
    desk.intake.config_map(config_map(key("a"), 7))
    desk.intake.config_map(config_map(key("a"), 6), deleted=True)
    desk.intake.resource(resource("a", 7, uid="new"))
    desk.intake.resource(resource("a", 6, uid="old"), deleted=True)

    assert desk.store.config_maps.get(key("a")) is not None
    assert desk.store.resources.get(key("a")) is not None
    assert desk.store.is_living("new")


async def test_a_late_answer_does_not_bring_back_what_is_gone() -> None:
    desk = Desk()
    desk.intake.resource(resource("a", 1))
    desk.intake.config_map(config_map(key("a"), 1))
    desk.intake.resource(resource("a", 3), deleted=True)
    desk.intake.config_map(config_map(key("a"), 3), deleted=True)
    desk.due()
    desk.intake.answered(resource("a", 2))
    desk.store.config_maps.put(key("a"), seen.config_map(config_map(key("a"), 2)))

    assert desk.due() == set()
    assert desk.store.resources.get(key("a")) is None
    assert desk.store.config_maps.get(key("a")) is None
    assert not desk.store.is_living("uid-a")
    assert desk.claims.register["a"].released_at == NOW


async def test_what_left_our_sight_without_its_label_is_known_when_it_is_looked_at() -> None:
    desk = Desk()
    desk.intake.config_map(config_map(key("a"), 5))
    desk.intake.config_map(config_map(key("a"), 6), deleted=True)
    stripped = seen.config_map(config_map(key("a"), 6, labels={}))

    assert desk.store.config_maps.put(key("a"), stripped)


def test_what_is_gone_is_not_remembered_for_ever() -> None:
    sights: Sights[ConfigMap] = Sights()
    for version in range(10, 1000, 10):
        name = f"x{version}"
        sights.put(name, _sight(version))
        sights.drop(name, version + 1)
        sights.take_list({}, version + 2)

    assert len(sights._gone) <= 2


async def test_a_list_brings_what_events_did_not() -> None:
    desk = Desk()
    desk.intake.resource(resource("stays", 1))
    desk.intake.resource(resource("goes", 2, prefix="p"))
    desk.claims.wrote(desk.claims.register)
    desk.due()
    desk.lists([resource("stays", 1), resource("comes", 3, prefix="p")])

    assert REGISTER in desk.due()
    assert desk.store.resources.get(key("goes")) is None
    assert not desk.store.is_living("uid-goes")
    assert desk.claims.register["p"].released_at == NOW
    (comer,) = [one.wish for one in desk.store.resources.values() if one.config_map == key("comes")]
    assert isinstance(comer, Server)
    conflict = desk.claims.conflict(comer)
    assert conflict is not None
    assert conflict.holder == "default/goes"


async def test_after_a_list_everything_is_looked_at() -> None:
    desk = Desk()
    desk.lists([resource("a")], [config_map("orphan")])
    desk.due()
    desk.intake.everything()

    assert desk.due() == {key("a"), "orphan", REGISTER}


async def test_what_a_list_cannot_show_is_doubtful_where_a_resource_needs_the_name() -> None:
    desk = Desk()
    for name in (key("a"), key("gone")):
        desk.store.config_maps.put(name, seen.config_map(config_map(name, 1, labels={})))
    desk.lists([resource("a")], [])

    assert desk.store.doubtful == {key("a")}


@pytest.mark.parametrize(
    ("servers", "expected"),
    [
        pytest.param(["default/a"], {"a"}, id="one"),
        pytest.param(["default/unknown", "a", "other/a"], set(), id="none that is ours"),
        pytest.param(None, {"a", "b"}, id="all"),
    ],
)
async def test_news_of_routers_concern_the_servers_that_they_name(
    servers: list[str] | None, expected: set[str]
) -> None:
    desk = Desk()
    for name in ("a", "b"):
        desk.intake.resource(resource(name))
    desk.due()
    desk.intake.routers_changed(servers)

    assert desk.due() == {key(name) for name in expected}


def _sight(version: int) -> ConfigMap:
    return seen.config_map(config_map("x", version))


def test_what_is_deleted_while_a_list_is_under_way_is_not_brought_back() -> None:
    sights: Sights[ConfigMap] = Sights()
    sights.put("x", _sight(5))
    sights.drop("x", 11)

    assert sights.take_list({"x": _sight(5)}, 10) == set()
    assert sights.get("x") is None


def test_what_we_delete_while_a_list_is_under_way_is_not_brought_back() -> None:
    sights: Sights[ConfigMap] = Sights()
    sights.put("x", _sight(5))
    sights.drop("x", 5 + 1)

    assert sights.take_list({"x": _sight(5)}, 10) == set()


def test_what_appears_while_a_list_is_under_way_is_not_taken_away() -> None:
    sights: Sights[ConfigMap] = Sights()
    sights.put("x", _sight(11))

    assert sights.take_list({}, 10) == set()
    assert sights.get("x") is not None


def test_what_was_deleted_and_made_again_before_a_list_is_known() -> None:
    sights: Sights[ConfigMap] = Sights()
    sights.put("x", _sight(5))
    sights.drop("x", 8)

    assert sights.take_list({"x": _sight(9)}, 10) == {"x"}


_EVENTS = st.lists(st.tuples(st.booleans(), st.integers(1, 30)), max_size=12)


@given(_EVENTS, st.randoms(use_true_random=False))
def test_events_in_any_order_end_with_the_newest_sight(events: Any, order: Any) -> None:
    shuffled = list(events)
    order.shuffle(shuffled)
    sights: Sights[ConfigMap] = Sights()
    for deleted, version in shuffled:
        if not deleted:
            sights.put("x", _sight(version))

    newest = max((version for deleted, version in events if not deleted), default=None)
    known = sights.get("x")
    assert (None if known is None else known.version) == newest


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"metadata": {"name": "a"}}, id="no uid"),
        pytest.param({"metadata": {"name": "a", "uid": "u"}}, id="no version"),
        pytest.param(
            {"metadata": {"name": "a", "uid": "u", "resourceVersion": "x"}}, id="no number"
        ),
    ],
)
def test_a_body_that_says_too_little_about_itself_is_not_kept(broken: dict[str, Any]) -> None:
    with pytest.raises(Unrecognisable):
        seen.resource(broken)
    with pytest.raises(Unrecognisable):
        seen.config_map(broken)


def test_a_bad_resource_is_kept_with_what_is_wrong_with_it() -> None:
    one: Resource = seen.resource(resource("a", url="ftp://x"))

    assert isinstance(one.wish, Refused)
    assert one.wish.reason == "InvalidUrl"
    assert one.identity.uid == "uid-a"


async def test_a_view_is_looked_at_when_it_changes_and_when_it_goes() -> None:
    desk = Desk()
    desk.intake.view(view("desk", 1))
    assert desk.due() == {view_key("desk")}
    desk.intake.view(view("desk", 1))
    assert desk.due() == set()
    desk.intake.view(view("desk", 2), deleted=True)

    assert desk.due() == {view_key("desk")}
    assert not desk.store.is_living("uid-view-desk")


async def test_the_answer_to_a_write_of_a_views_status_is_no_reason_to_look_again() -> None:
    desk = Desk()
    desk.intake.view(view("desk", 1))
    desk.due()
    desk.intake.view_answered({**view("desk", 2), "status": {"toolCount": 1}})

    assert desk.due() == set()
    desk.intake.view_answered(view("desk", 3, tools=["*"]))
    assert desk.due() == {view_key("desk")}


async def test_a_server_is_news_for_the_views_that_select_it_and_for_no_others() -> None:
    desk = Desk()
    desk.intake.view(selecting("support", team="support"))
    desk.intake.view(selecting("sales", team="sales"))
    desk.intake.view(view("named", servers={"names": ["a"]}))
    elsewhere = selecting("far", team="support")
    elsewhere["metadata"]["namespace"] = "elsewhere"
    desk.intake.view(elsewhere)
    desk.due()

    def views_due() -> set[str]:
        return {key for key in desk.due() if labels.is_of_view(key)}

    desk.intake.resource(labelled("a", 1, team="support"))
    assert views_due() == {view_key("support")}
    desk.intake.resource(labelled("a", 2, team="support", more="x"))
    assert views_due() == set()
    desk.intake.resource(labelled("a", 3, team="sales"))
    assert views_due() == {view_key("support"), view_key("sales")}
    desk.intake.answered(labelled("a", 4))
    assert views_due() == {view_key("sales")}
    desk.intake.resource(labelled("a", 5, team="sales"))
    desk.due()
    desk.intake.resource(labelled("a", 6, team="sales"), deleted=True)
    assert views_due() == {view_key("sales")}


async def test_the_neighbours_of_a_view_are_the_servers_of_its_namespace() -> None:
    desk = Desk()
    far = labelled("b", team="x")
    far["metadata"]["namespace"] = "elsewhere"
    desk.intake.resource(labelled("a", team="support"))
    desk.intake.resource(far)

    assert desk.store.neighbours("default") == {"a": {"team": "support"}}


async def test_a_list_of_views_takes_away_what_is_not_in_it() -> None:
    desk = Desk()
    desk.intake.view(view("stays", 3))
    desk.intake.view(view("gone", 4))
    assert not desk.store.knows_views
    desk.intake.views_listed([seen.view(view("stays", 3))], 10)
    desk.intake.everything()

    assert desk.store.knows_views
    assert desk.store.views.get(view_key("gone")) is None
    assert not desk.store.is_living("uid-view-gone")
    assert desk.store.is_living("uid-view-stays")
    assert view_key("stays") in desk.due()


async def test_views_are_looked_at_of_which_a_router_says_something_new() -> None:
    desk = Desk()
    desk.intake.view(view("one"))
    desk.intake.view(view("two"))
    desk.intake.resource(resource("one"))
    desk.due()
    desk.intake.views_changed(["default/one", "default/unknown", "file"])
    assert desk.due() == {view_key("one")}
    desk.intake.routers_changed(None)

    assert desk.due() == {view_key("one"), view_key("two"), key("one")}
