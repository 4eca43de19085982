"""Whether each account may do what its program does, and nothing else."""

import pytest

from bench import helm
from chart import rendering
from chart.grants import Right, rights


def _resources(namespace: str) -> set[Right]:
    return {
        Right(namespace, "pointsman.dev", resource, verb)
        for kind in ("mcpservers", "mcpviews")
        for resource, verb in ((kind, "list"), (kind, "watch"), (f"{kind}/status", "patch"))
    } | {Right(namespace, "events.k8s.io", "events", "create")}


PUBLISHING = {
    Right("agents", "", "configmaps", verb)
    for verb in ("list", "watch", "create", "patch", "delete")
}
FOLLOWING = {Right("agents", "", "configmaps", verb) for verb in ("list", "watch")}


@pytest.mark.parametrize(
    ("name", "operator", "router"),
    [
        pytest.param("default", PUBLISHING | _resources(""), FOLLOWING, id="the whole cluster"),
        pytest.param(
            "namespaced",
            PUBLISHING | _resources("team-a") | _resources("team-b"),
            FOLLOWING,
            id="two namespaces",
        ),
        pytest.param("granted-elsewhere", set(), set(), id="granted by somebody else"),
    ],
)
def test_an_account_may_do_its_programs_work_and_nothing_else(
    name: str, operator: set[Right], router: set[Right]
) -> None:
    rendered = rendering.combination(name)

    accounts = [rendered.pod(one)["serviceAccountName"] for one in ("operator", "router")]
    assert [rights(rendered, helm.NAMESPACE, one) for one in accounts] == [operator, router]


@pytest.mark.parametrize("name", rendering.COMBINATIONS)
def test_nobody_but_the_two_accounts_is_bound_to_anything(name: str) -> None:
    rendered = rendering.combination(name)
    bound = {
        (subject["kind"], subject["namespace"], subject["name"])
        for kind in ("RoleBinding", "ClusterRoleBinding")
        for body in rendered.of_kind(kind)
        for subject in body["subjects"]
    }
    accounts = {
        ("ServiceAccount", helm.NAMESPACE, rendered.pod(one)["serviceAccountName"])
        for one in ("operator", "router")
    }

    assert bound <= accounts
    assert len(accounts) == 2


@pytest.mark.parametrize("name", rendering.COMBINATIONS)
def test_every_role_is_bound_once(name: str) -> None:
    rendered = rendering.combination(name)
    for scope in ("", "Cluster"):
        roles = [
            (one["metadata"].get("namespace"), one["metadata"]["name"])
            for one in rendered.of_kind(f"{scope}Role")
        ]
        bound = [
            (one["metadata"].get("namespace"), one["roleRef"]["name"])
            for one in rendered.of_kind(f"{scope}RoleBinding")
        ]

        assert sorted(roles) == sorted(bound)


@pytest.mark.parametrize("name", rendering.COMBINATIONS)
def test_pods_use_accounts_that_are_made_unless_they_are_given(name: str) -> None:
    rendered = rendering.combination(name)
    made = {one["metadata"]["name"] for one in rendered.of_kind("ServiceAccount")}
    used = {rendered.pod(one)["serviceAccountName"] for one in ("operator", "router")}

    if name == "granted-elsewhere":
        assert (made, used) == (set(), {"given-operator", "given-router"})
    else:
        assert made == used


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param((), id="both serve the whole cluster"),
        pytest.param(("watchNamespaces={team-a,team-b}",), id="both serve the same namespaces"),
    ],
)
@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(("blue", "pointsman"), ("green", "pointsman"), id="one name, two namespaces"),
        # A hyphen between name and namespace would spell both the same.
        pytest.param(("a-b", "c-pointsman"), ("a", "b-c-pointsman"), id="names that join"),
    ],
)
def test_two_releases_share_no_object(
    settings: tuple[str, ...], one: tuple[str, str], other: tuple[str, str]
) -> None:
    objects = [
        {
            (body["kind"], body["metadata"].get("namespace"), body["metadata"]["name"])
            for body in rendering.with_values(
                "crds.install=false", *settings, namespace=namespace, release=release
            ).objects
        }
        for namespace, release in (one, other)
    ]

    assert objects[0] & objects[1] == set()
    assert len(objects[0]) == len(objects[1]) > 10


def test_a_release_for_some_namespaces_takes_no_right_over_the_cluster() -> None:
    rendered = rendering.combination("namespaced")

    assert all("namespace" in body["metadata"] for body in rendered.objects)
