"""How a published server is found again."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman_contract import labels

DNS_LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True)
DNS_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def test_the_words_that_others_select_by_are_these() -> None:
    assert labels.SELECTOR == "pointsman.dev/meta in (v1,view-v1)"
    assert labels.DATA_KEY == "meta.json"
    assert labels.REGISTER_NAME == "pointsman-prefixes"
    assert (labels.MANAGED_BY, labels.MANAGER) == ("app.kubernetes.io/managed-by", "pointsman")
    assert labels.SERVER_NAME == "pointsman.dev/server-name"
    assert labels.SERVER_NAMESPACE == "pointsman.dev/server-namespace"
    assert labels.SERVER_UID == "pointsman.dev/server-uid"
    assert labels.SERVER_GENERATION == "pointsman.dev/server-generation"


@pytest.mark.parametrize(
    ("namespace", "name", "object_name"),
    [
        pytest.param("tools", "github", "mcp-github-9c7dd6909f", id="a short name"),
        pytest.param("a", "b-c", "mcp-b-c-b88f83c840", id="a hyphen in the name"),
        pytest.param("a-b", "c", "mcp-c-4e84717d75", id="the same hyphen in the namespace"),
    ],
)
def test_an_object_is_named_after_its_server_and_the_digest_of_its_identity(
    namespace: str, name: str, object_name: str
) -> None:
    assert labels.config_map_name(namespace, name) == object_name


@given(DNS_LABELS)
def test_a_dns_label_is_taken_for_one(text: str) -> None:
    assert labels.is_dns_label(text)


@pytest.mark.parametrize(
    "text",
    ["", "A", "a.b", "a/b", "..", "-a", "a-", "a_b", "a b", "a\n", "\na", "é", "٣", "a" * 64],
)
def test_nothing_else_is_a_dns_label(text: str) -> None:
    assert not labels.is_dns_label(text)


@given(DNS_LABELS, DNS_LABELS)
def test_an_object_name_is_one_that_kubernetes_takes(namespace: str, name: str) -> None:
    object_name = labels.config_map_name(namespace, name)

    assert DNS_SUBDOMAIN.fullmatch(object_name)
    assert len(object_name) <= 253


def test_a_million_pairs_that_differ_only_in_where_the_hyphen_belongs_never_share_a_name() -> None:
    pairs = (
        (labels.config_map_name(f"a{number}", "b-c"), labels.config_map_name(f"a{number}-b", "c"))
        for number in range(1_000_000)
    )

    assert not any(one == other for one, other in pairs)


@given(st.none() | DNS_LABELS, DNS_LABELS, st.none() | DNS_LABELS, DNS_LABELS)
def test_two_servers_never_share_an_identity(
    namespace: str | None, name: str, other_namespace: str | None, other_name: str
) -> None:
    same = labels.server_id(namespace, name) == labels.server_id(other_namespace, other_name)

    assert same == ((namespace, name) == (other_namespace, other_name))


def test_a_server_without_a_namespace_is_known_by_its_name() -> None:
    assert labels.server_id(None, "github") == "github"
    assert labels.server_id("tools", "github") == "tools/github"
