"""Where an upstream is: at its url, or behind the Service that a resource refers to."""

import re
from collections.abc import Mapping

from pointsman_contract import url
from pointsman_operator.specerror import SpecError, SpecReason

PATH_DEFAULT = "/mcp"
# The url that is composed of it fits, whatever the names before it.
PATH_MAX_LENGTH = 1024

# What Kubernetes takes for the name of a Service (a label of RFC 1035).
_SERVICE_NAME = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)


def of(spec: Mapping[str, object], namespace: str | None) -> str:
    """Return the url of the upstream that a resource in `namespace` names; raises SpecError.

    A Service is one of that namespace: a resource has no words for another.
    """
    given, service = spec.get("url"), spec.get("service")
    if given is None and service is None:
        raise SpecError(
            "spec.url", "must be given, or spec.service in its place", SpecReason.INVALID_URL
        )
    if service is None:
        return _url(given)
    if given is not None:
        raise SpecError("spec.service", "must not be given beside spec.url: keep one of them")
    return _service(service, namespace)


def _url(value: object) -> str:
    field = "spec.url"
    if not isinstance(value, str):
        raise SpecError(field, "must be a string", SpecReason.INVALID_URL)
    if (problem := url.problem(value)) is not None:
        raise SpecError(field, problem, SpecReason.INVALID_URL)
    return value


def _service(value: object, namespace: str | None) -> str:
    field = "spec.service"
    if not isinstance(value, Mapping):
        raise SpecError(field, "must be an object with a name and a port")
    name = _name(value.get("name"), f"{field}.name")
    port = _port(value.get("port"), f"{field}.port")
    path = _path(value.get("path"), f"{field}.path")
    if namespace is None:
        raise SpecError(
            field,
            "must be in a cluster, in the namespace of the resource, and the file states none:"
            " write metadata.namespace, or spec.url where there is no cluster",
        )
    composed = f"http://{name}.{namespace}.svc:{port}{path}"
    if (problem := url.problem(composed)) is not None:
        raise SpecError(f"{field}.path", problem)
    return composed


def _name(value: object, field: str) -> str:
    if value is None:
        raise SpecError(field, "must be given")
    if not isinstance(value, str) or not _SERVICE_NAME.fullmatch(value):
        raise SpecError(
            field,
            "must be the name of a Service: 1 to 63 lower-case letters, digits and inner hyphens,"
            " the first a letter, without a dot",
        )
    return value


def _port(value: object, field: str) -> int:
    if value is None:
        raise SpecError(field, "must be given: there is no usual one")
    # JSON has one kind of number: the API server takes 80.0 for 80.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= url.MAX_PORT:
        raise SpecError(field, f"must be a whole number from 1 to {url.MAX_PORT}")
    return value


def _path(value: object, field: str) -> str:
    if value is None:
        return PATH_DEFAULT
    if not isinstance(value, str) or not value.startswith("/"):
        raise SpecError(field, "must begin with /")
    if len(value) > PATH_MAX_LENGTH:
        raise SpecError(field, f"must not be longer than {PATH_MAX_LENGTH} characters")
    return value
