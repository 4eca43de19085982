"""What has to be written so that the cluster is as a resource asks."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.admission import body
from bench.spellings import LONGEST_URL
from pointsman_contract.report import ServerReport
from pointsman_operator import manifests, reconcile, seen, status
from pointsman_operator.arbitration import Conflict
from pointsman_operator.conditions import Acceptance, Refused
from pointsman_operator.consensus import Finding, reach
from pointsman_operator.manifests import JSON
from pointsman_operator.reconcile import Apply, Cleanse, Create, Plan, Remove, Replace, Situation
from pointsman_operator.seen import ConfigMap, Resource
from pointsman_operator.statement import Statement
from pointsman_operator.status import ConditionType, Status, Truth

RELEASE = "release"
NOW = "2026-01-01T00:00:00Z"
LIVING = frozenset(["u-1", "u-other"])


def asked(generation: int = 1, uid: str = "u-1", name: str = "github", **spec: Any) -> JSON:
    one = body(name, **{"allowedTools": ["*"], **spec})
    one["metadata"] |= {
        "namespace": "tools",
        "uid": uid,
        "generation": generation,
        "resourceVersion": "10",
        "creationTimestamp": NOW,
    }
    return one


def resource(generation: int = 1, uid: str = "u-1", **spec: Any) -> Resource:
    return seen.resource(asked(generation, uid, **spec))


def published(of: Resource, *, uid: str = "cm-1", **changes: Any) -> ConfigMap:
    """What lies in the cluster once `of` is published, with members changed."""
    assert not isinstance(of.wish, Refused)
    written: dict[str, Any] = dict(
        manifests.body_of(manifests.manifest_of(of.wish, namespace=RELEASE))
    )
    metadata = {**written["metadata"], "uid": uid, "resourceVersion": "20"}
    metadata |= changes.pop("metadata", {})
    return seen.config_map({**written, **changes, "metadata": metadata})


def situation(one: Resource | None, observed: ConfigMap | None = None, **changes: Any) -> Situation:
    plain = Situation(
        resource=one,
        conflict=None,
        observed=observed,
        publishes_living=observed is not None and observed.resource_uid in LIVING,
        consensus=reach(one.identity, []) if one is not None else None,
        counts=None,
        failure=None,
        differs=False,
        namespace=RELEASE,
        now=NOW,
    )
    return replace(plain, **changes)


def plan(one: Resource | None, observed: ConfigMap | None = None, **changes: Any) -> Plan:
    return reconcile.plan(situation(one, observed, **changes))


ONE = resource()
RIGHT = published(ONE)
UNLABELLED: dict[str, Any] = {"labels": {}}
FOREIGN = published(ONE, metadata={"annotations": {}, "labels": {}})
ANOTHERS = published(ONE, metadata={"annotations": {"pointsman.dev/server-uid": "u-other"}})
ORPHAN = published(ONE, metadata={"annotations": {"pointsman.dev/server-uid": "u-dead"}})
UNLABELLED_ORPHAN = published(
    ONE, metadata={"annotations": {"pointsman.dev/server-uid": "u-dead"}, **UNLABELLED}
)
NAMELESS = published(ONE, metadata={"annotations": {}})


@pytest.mark.parametrize(
    ("observed", "deed"),
    [
        pytest.param(None, Create, id="nothing there"),
        pytest.param(RIGHT, None, id="all right"),
        pytest.param(published(ONE, data={"meta.json": "{}"}), Apply, id="F59 edited"),
        pytest.param(published(ONE, data={}), Apply, id="F59 emptied"),
        pytest.param(published(ONE, metadata=UNLABELLED), Apply, id="F59 its labels stripped"),
        pytest.param(
            published(ONE, metadata={"labels": {"pointsman.dev/meta": "v1"}}),
            Apply,
            id="F59 some labels stripped",
        ),
        pytest.param(
            published(
                ONE,
                metadata={
                    "annotations": {
                        "pointsman.dev/server-uid": "u-1",
                        "pointsman.dev/server-generation": "7",
                    }
                },
            ),
            Apply,
            id="F59 an annotation edited",
        ),
        pytest.param(
            published(ONE, data={"meta.json": "{}", "x": "y"}), Cleanse, id="F59 a key added"
        ),
        pytest.param(published(ONE, binaryData={"x": "eQ=="}), Cleanse, id="F59 binary data added"),
        pytest.param(published(ONE, immutable=True), Replace, id="F59 made immutable"),
        pytest.param(
            published(ONE, metadata={"labels": {**RIGHT.labels, "x": "y"}}),
            None,
            id="a label of somebody else",
        ),
        pytest.param(ORPHAN, Replace, id="F62 what a dead resource of that name left"),
        pytest.param(FOREIGN, None, id="F60 somebody else's"),
        pytest.param(ANOTHERS, None, id="what another living resource is said to own"),
        pytest.param(UNLABELLED_ORPHAN, None, id="a dead uid without our label"),
        pytest.param(NAMELESS, None, id="our label without a uid"),
    ],
)
def test_an_accepted_resource_is_published(observed: ConfigMap | None, deed: type | None) -> None:
    write = plan(ONE, observed).write

    assert (None if write is None else type(write)) is deed


@pytest.mark.parametrize(
    ("observed", "deed"),
    [
        pytest.param(None, None, id="nothing there"),
        pytest.param(RIGHT, Remove, id="its own"),
        pytest.param(published(ONE, metadata=UNLABELLED), Remove, id="its own without labels"),
        pytest.param(ORPHAN, Remove, id="what a dead resource left"),
        pytest.param(FOREIGN, None, id="somebody else's"),
        pytest.param(ANOTHERS, None, id="what another living resource is said to own"),
    ],
)
@pytest.mark.parametrize(
    ("refused", "changes"),
    [
        pytest.param(resource(url="ftp://x"), {}, id="C36 its url is bad"),
        pytest.param(ONE, {"conflict": Conflict("github", "n/other")}, id="C19 another's prefix"),
    ],
)
def test_a_resource_that_is_not_accepted_loses_its_config_map(
    refused: Resource, changes: dict[str, Any], observed: ConfigMap | None, deed: type | None
) -> None:
    write = plan(refused, observed, **changes).write

    assert (None if write is None else type(write)) is deed


@pytest.mark.parametrize(
    ("observed", "deed"),
    [
        pytest.param(None, None, id="nothing there"),
        pytest.param(ORPHAN, Remove, id="F62 what it left"),
        pytest.param(ANOTHERS, None, id="what a living resource is said to own"),
        pytest.param(UNLABELLED_ORPHAN, None, id="no label of ours"),
        pytest.param(NAMELESS, None, id="no uid"),
        pytest.param(FOREIGN, None, id="somebody else's"),
    ],
)
def test_of_a_resource_that_is_gone_nothing_of_ours_stays(
    observed: ConfigMap | None, deed: type | None
) -> None:
    look = plan(None, observed)

    assert (None if look.write is None else type(look.write)) is deed
    assert look.status is None


@pytest.mark.parametrize(
    ("one", "changes", "reason", "words"),
    [
        pytest.param(resource(url="ftp://x"), {}, "InvalidUrl", "spec.url must ", id="a bad url"),
        pytest.param(
            resource(prefix="A"), {}, "InvalidSpec", "spec.prefix must ", id="another bad field"
        ),
        pytest.param(
            resource(
                url=LONGEST_URL,
                allowedTools=["\U0001f600" * 127 + chr(0x10000 + n) for n in range(500)],
            ),
            {},
            "TooLarge",
            "spec.allowedTools",
            id="F57 a document too large",
        ),
        pytest.param(
            ONE,
            {"conflict": Conflict("github", "n/other")},
            "PrefixConflict",
            "n/other",
            id="another's prefix",
        ),
        pytest.param(
            ONE, {"observed": FOREIGN}, "NameConflict", "mcp-github-9c7dd6909f", id="another's name"
        ),
    ],
)
def test_a_resource_that_is_not_accepted_says_why_and_what_to_do(
    one: Resource, changes: dict[str, Any], reason: str, words: str
) -> None:
    told = plan(one, **changes).status
    assert told is not None
    accepted = told.condition(ConditionType.ACCEPTED)

    assert accepted is not None
    assert (accepted.truth, accepted.reason) == (Truth.FALSE, reason)
    assert words in accepted.message
    assert {c.truth for c in told.conditions} == {Truth.FALSE}


def test_a_resource_that_is_not_accepted_says_which_router_still_serves_it() -> None:
    held = {"id": "tools/github", "uid": "u-1", "generation": 1, "state": "Serving", "since": NOW}
    statement = Statement("r1", answers=True, entry=ServerReport.model_validate(held))
    consensus = reach(ONE.identity, [statement])
    told = plan(ONE, conflict=Conflict("github", "n/other"), consensus=consensus).status

    assert told is not None
    ready = told.condition(ConditionType.READY)
    assert ready is not None
    assert "router r1 still serves" in ready.message


def test_a_resource_that_was_stored_under_an_unusual_name_is_told_so() -> None:
    told = plan(seen.resource(asked(name="a.b"))).status

    assert told is not None
    accepted = told.condition(ConditionType.ACCEPTED)
    assert accepted is not None
    assert accepted.reason == Acceptance.INVALID_SPEC
    assert accepted.message.startswith("metadata.name must ")


def test_what_could_not_be_written_is_told() -> None:
    failure = Finding(Truth.FALSE, "Forbidden", "no right")

    told = plan(ONE, failure=failure).status

    assert told is not None
    at = told.condition(ConditionType.PUBLISHED)
    assert at is not None
    assert (at.truth, at.reason, at.generation) == (Truth.FALSE, "Forbidden", 1)


def test_a_new_generation_is_published_with_its_number() -> None:
    newer = resource(2, url="http://other.example/")

    write = plan(newer, RIGHT).write

    assert isinstance(write, Apply)
    assert write.manifest.annotations["pointsman.dev/server-generation"] == "2"
    assert '"generation": 2' in write.manifest.document


def test_the_resource_owns_its_config_map_again_where_it_may() -> None:
    home = asked()
    home = {**home, "metadata": {**home["metadata"], "namespace": RELEASE}}  # type: ignore[dict-item]  # a body is plain JSON
    one = seen.resource(home)

    write = plan(one, published(one, metadata={"ownerReferences": []})).write

    assert isinstance(write, Apply)
    assert write.manifest.owner is not None


class World:
    """A ConfigMap's name and a resource, as writes leave them."""

    def __init__(self, one: Resource | None, observed: ConfigMap | None) -> None:
        self.resource = one
        self.observed = observed

    def carry_out(self, look: Plan) -> None:
        match look.write:
            case None:
                pass
            case Remove():
                self.observed = None
            case Create(manifest) | Replace(manifest):
                self.observed = self._of(manifest, "cm-2")
            case Apply(manifest, observed):
                merged = {**observed.labels, **manifest.labels}
                self.observed = replace(self._of(manifest, observed.uid), labels=merged)
                self.observed = replace(self.observed, strangers=observed.strangers)
            case Cleanse(manifest, observed):
                self.observed = self._of(manifest, observed.uid)
        if look.status is not None and self.resource is not None:
            kept = status.load(status.dump(look.status))
            self.resource = replace(self.resource, status=kept)

    @staticmethod
    def _of(manifest: manifests.Manifest, uid: str) -> ConfigMap:
        written: dict[str, Any] = dict(manifests.body_of(manifest))
        metadata = {**written["metadata"], "uid": uid, "resourceVersion": "30"}
        return seen.config_map({**written, "metadata": metadata})


_OBSERVED = st.sampled_from(
    [
        None,
        RIGHT,
        FOREIGN,
        ANOTHERS,
        ORPHAN,
        NAMELESS,
        published(ONE, data={"meta.json": "{}", "x": "y"}),
        published(ONE, metadata=UNLABELLED),
        published(ONE, immutable=True),
        published(resource(7)),
    ]
)
_RESOURCES = st.sampled_from(
    [None, ONE, resource(2, prefix="q"), resource(url="ftp://x"), resource(suspend=True)]
)
_CHANGES = st.fixed_dictionaries(
    {
        "conflict": st.sampled_from([None, Conflict("github", "n/other")]),
        "failure": st.none(),
    }
)


@given(_RESOURCES, _OBSERVED, _CHANGES)
def test_a_second_look_writes_nothing(
    one: Resource | None, observed: ConfigMap | None, changes: dict[str, Any]
) -> None:
    world = World(one, observed)
    world.carry_out(plan(world.resource, world.observed, **changes))

    again = plan(world.resource, world.observed, **{**changes, "now": "2027-01-01T00:00:00Z"})

    assert again == Plan(None, None)


@given(_RESOURCES, _OBSERVED, _CHANGES)
def test_what_is_somebody_elses_is_never_touched(
    one: Resource | None, observed: ConfigMap | None, changes: dict[str, Any]
) -> None:
    if observed is None or (observed.is_labelled and observed.resource_uid == "u-dead"):
        return
    if one is not None and observed.resource_uid == one.identity.uid:
        return

    assert plan(one, observed, **changes).write is None


def test_a_status_that_somebody_spoilt_is_written_again() -> None:
    once = plan(ONE, RIGHT).status
    assert once is not None
    spoilt = replace(once, conditions=once.conditions[:1], prefix="other")

    assert plan(replace(ONE, status=spoilt), RIGHT).status == once
    assert plan(replace(ONE, status=once), RIGHT).status is None
    assert plan(replace(ONE, status=Status()), RIGHT).status == once
