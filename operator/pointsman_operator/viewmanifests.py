"""What a view looks like as a ConfigMap."""

from pointsman_contract import labels, view
from pointsman_contract.view import ViewMeta
from pointsman_operator import manifests
from pointsman_operator.manifests import Manifest
from pointsman_operator.viewspec import View


class ViewTooLarge(ValueError):
    """The view holds more than its readers take; the message says what to shorten."""

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        super().__init__(f"{field} {problem}")


def meta_of(wish: View, servers: tuple[str, ...]) -> ViewMeta:
    """Return what is published about a view of these `servers`; raises ViewTooLarge."""
    if len(servers) > view.SERVERS_MAX:
        # Which of them to leave out is nobody's to choose.
        raise ViewTooLarge(
            "spec.servers.selector",
            f"takes {len(servers)} servers and a view holds at most {view.SERVERS_MAX}: select"
            " fewer",
        )
    identity = wish.identity
    return ViewMeta(
        name=identity.name,
        namespace=identity.namespace,
        uid=identity.uid,
        generation=identity.generation,
        servers=servers,
        tools=wish.tools,
        names=wish.names,
        discovery=wish.discovery,
    )


def document_of(published: ViewMeta) -> str:
    """Return the view.json of a view; raises ViewTooLarge."""
    document = view.dump(published)
    if len(document) > view.MAX_BYTES:
        raise ViewTooLarge(
            "spec.tools",
            f"makes the published document {len(document)} bytes long and at most"
            f" {view.MAX_BYTES} are read: name fewer tools, or more of them by one pattern with *",
        )
    return document.decode()


def manifest_of(published: ViewMeta, *, namespace: str) -> Manifest:
    """Return the ConfigMap that publishes a view in `namespace`; raises ViewTooLarge."""
    home, uid = published.namespace or namespace, published.uid or ""
    return Manifest(
        name=labels.view_config_map_name(home, published.name),
        namespace=namespace,
        labels={
            labels.MANAGED_BY: labels.MANAGER,
            labels.META: labels.VIEW_VERSION,
            labels.VIEW_NAME: published.name,
            labels.VIEW_NAMESPACE: home,
        },
        annotations={
            labels.VIEW_UID: uid,
            labels.VIEW_GENERATION: str(published.generation or 0),
        },
        document=document_of(published),
        owner=manifests.owner(labels.VIEW_KIND, published.name, uid) if home == namespace else None,
        data_key=labels.VIEW_DATA_KEY,
    )
