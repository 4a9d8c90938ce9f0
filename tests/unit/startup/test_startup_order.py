"""All reasons not to start are one list, in the contract's order."""

from __future__ import annotations

from aviso_core.errors import Fault
from aviso_core.settings.model import (
    Application,
    Auth,
    Homepage,
    Logging,
    Metrics,
    NotificationBackend,
    Otlp,
    Registry,
    Settings,
    WatchEndpoint,
)
from aviso_core.settings.stream_refusals import AuthFacts, StreamFacts
from aviso_core.startup import startup_faults

GOOD = Settings(
    application=Application(host="127.0.0.1", port=8000),
    notification_backend=NotificationBackend(kind="in_memory"),
)
BAD = Settings(
    application=Application(
        host="127.0.0.1", port=8000, reuse_port=True, homepage=Homepage(client_repository_url="x")
    ),
    notification_backend=NotificationBackend(kind="in_memory", in_memory=GOOD.notification_backend.in_memory),
    auth=Auth(enabled=True, mode="trusted_proxy", admin_roles={"main": ("operator",)}),
    metrics=Metrics(enabled=True),
    logging=Logging(otlp=Otlp(enabled=True)),
    watch_endpoint=WatchEndpoint(replay_batch_size=0),
    registry=Registry(kind="folder"),
)
STREAM = StreamFacts(
    event_type="mars",
    has_storage_policy=True,
    auth=AuthFacts(required=False, read_roles={"main": ("reader",)}, plugins=("ecpds",)),
)
BASES = Fault(path="notification_schema.mars.topic.base", message="is taken", remedy="choose another")


def test_nothing_keeps_a_good_configuration_from_starting() -> None:
    assert startup_faults(GOOD, streams=[], schema_faults=[]) == []


def test_the_groups_have_the_order_of_the_contract() -> None:
    """Home page, backend and bases, auth, plugins, stream auth, metrics, ECPDS; what it does not place is last."""
    faults = startup_faults(BAD, streams=[STREAM], schema_faults=[BASES])
    assert [(fault.path, fault.message[:24]) for fault in faults] == [
        ("application.homepage.client_repository_url", "application.homepage.cli"),
        ("notification_schema.mars.storage_policy", "is not supported by the "),
        ("notification_schema.mars.topic.base", "is taken"),
        ("auth.jwt_secret", "is empty"),
        ("notification_schema.mars.auth.required", "must be true where plugi"),
        ("notification_schema.mars.auth.required", "must be true where roles"),
        ("metrics.port", "is required while metric"),
        ("ecpds", "is required by the plugi"),
        ("logging.otlp.endpoint", "logging.otlp.enabled=tru"),
        ("watch_endpoint.replay_batch_size", "must be greater than zer"),
        ("registry.folder", "is required while regist"),
        ("application.reuse_port", "needs a log that the pro"),
    ]
