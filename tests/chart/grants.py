"""What the chart's roles let an account do."""

from dataclasses import dataclass

from chart.rendering import Rendering


@dataclass(frozen=True, slots=True, order=True)
class Right:
    """One verb on one kind of object, in a namespace or (empty) in all."""

    namespace: str
    group: str
    resource: str
    """With its subresource, as in `mcpservers/status`."""
    verb: str

    def covers(self, other: "Right") -> bool:
        """Whether whoever has this one may do the other."""
        within = self.namespace in ("", other.namespace)
        return within and (self.group, self.resource, self.verb) == (
            other.group,
            other.resource,
            other.verb,
        )


def rights(rendered: Rendering, namespace: str, account: str) -> set[Right]:
    """Every right of an account, by the roles that are bound to it."""
    found = set()
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    for body in (*rendered.of_kind("RoleBinding"), *rendered.of_kind("ClusterRoleBinding")):
        if subject not in body["subjects"]:
            continue
        within = body["metadata"].get("namespace", "")
        (role,) = [
            one
            for one in rendered.of_kind(body["roleRef"]["kind"])
            if one["metadata"]["name"] == body["roleRef"]["name"]
            and one["metadata"].get("namespace", "") == within
        ]
        found |= {
            Right(within, group, resource, verb)
            for rule in role["rules"]
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
        }
    return found
