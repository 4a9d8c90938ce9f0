"""The tree of settings: what is configured when nothing is said, and what follows from what is said."""

from __future__ import annotations

import ast
import inspect
from operator import attrgetter

import pytest

from aviso_core.plain.decode import decode
from aviso_core.plain.secret import Secret
from aviso_core.settings import model
from aviso_core.settings.loader import merge
from aviso_core.settings.model import InMemory, Issuer, JetStream, Otlp, Settings, Tracing

MINIMAL: dict[str, object] = {
    "application": {"host": "h", "port": 1},
    "notification_backend": {"kind": "in_memory"},
}

DEFAULTS = {
    "application.reuse_port": False,
    "application.base_url": "http://localhost",
    "application.static_files_path": "/app/static",
    "application.homepage.client_documentation_url": "https://sites.ecmwf.int/docs/aviso-client/main/",
    "application.homepage.client_repository_url": "https://github.com/ecmwf/aviso-client",
    "application.homepage.server_documentation_url": "https://sites.ecmwf.int/docs/aviso-server/main/",
    "application.homepage.server_repository_url": "https://github.com/ecmwf/aviso-server",
    "application.cors.allowed_origins": (),
    "application.cors.allow_credentials": False,
    "logging.level": "info",
    "logging.otlp.enabled": False,
    "logging.otlp.endpoint": None,
    "logging.otlp.protocol": "grpc",
    "tracing.enabled": False,
    "tracing.endpoint": None,
    "tracing.protocol": "grpc",
    "tracing.sample_ratio": 1.0,
    "auth.enabled": False,
    "auth.mode": "direct",
    "auth.auth_o_tron_url": "",
    "auth.jwt_secret": Secret(""),
    "auth.admin_roles": {},
    "auth.timeout_ms": 5000,
    "auth.direct_cache_seconds": 0,
    "auth.jwks_refresh_seconds": 300,
    "auth.issuers": (),
    "auth.kubernetes.enabled": False,
    "auth.kubernetes.issuer": "",
    "auth.kubernetes.audience": "aviso",
    "auth.kubernetes.jwks_url": "",
    "auth.kubernetes.jwks_file": "",
    "auth.kubernetes.ca_file": "",
    "auth.kubernetes.realm": "kubernetes",
    "auth.kubernetes.review.bearer_file": "",
    "auth.kubernetes.review.url": "https://kubernetes.default.svc",
    "auth.kubernetes.review.ca_file": "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
    "auth.kubernetes.review.cache_seconds": 60,
    "metrics.enabled": False,
    "metrics.host": "127.0.0.1",
    "metrics.port": None,
    "notification_backend.in_memory.max_history_per_topic": 1,
    "notification_backend.in_memory.max_topics": 10_000,
    "notification_backend.in_memory.enable_metrics": False,
    "notification_backend.jetstream.nats_url": "nats://localhost:4222",
    "notification_backend.jetstream.token": None,
    "notification_backend.jetstream.user": None,
    "notification_backend.jetstream.password": None,
    "notification_backend.jetstream.credentials_file": None,
    "notification_backend.jetstream.nkey_seed_file": None,
    "notification_backend.jetstream.tls_ca_file": None,
    "notification_backend.jetstream.tls_certificate_file": None,
    "notification_backend.jetstream.tls_key_file": None,
    "notification_backend.jetstream.timeout_seconds": 30,
    "notification_backend.jetstream.retry_attempts": 3,
    "notification_backend.jetstream.max_reconnect_attempts": None,
    "notification_backend.jetstream.reconnect_delay_ms": 2000,
    "notification_backend.jetstream.publish_retry_attempts": 5,
    "notification_backend.jetstream.publish_retry_base_delay_ms": 150,
    "notification_backend.jetstream.max_messages": None,
    "notification_backend.jetstream.max_bytes": None,
    "notification_backend.jetstream.retention_time": None,
    "notification_backend.jetstream.replicas": None,
    "notification_backend.jetstream.storage_type": "file",
    "notification_backend.jetstream.retention_policy": "limits",
    "notification_backend.jetstream.discard_policy": "old",
    "registry.kind": "memory",
    "registry.folder": None,
    "watch_endpoint.sse_heartbeat_interval_sec": 30,
    "watch_endpoint.connection_max_duration_sec": 3600,
    "watch_endpoint.replay_batch_size": 100,
    "watch_endpoint.max_historical_notifications": 10_000,
    "watch_endpoint.replay_batch_delay_ms": 0,
    "watch_endpoint.concurrent_notification_processing": 15,
    "streams.max_waiting_bytes": 1_048_576,
    "streams.send_buffer_bytes": 131_072,
    "streams.stalled_seconds": 60,
    "streams.max_streams": 20_000,
    "streams.max_streams_per_user": 0,
    "streams.max_streams_per_address": 0,
    "streams.trusted_proxy_hops": 0,
    "streams.lifetime_jitter_percent": 10,
    "streams.drain_seconds": 5,
    "notification_schema": None,
    "notification_schema_strict": None,
    "ecpds": None,
    "ingest.batch_max_records": 10_000,
    "ingest.batch_max_bytes": 8_388_608,
    "ingest.max_bytes_in_flight": 67_108_864,
    "ingest.max_waiting_seconds": 30,
    "live_sets.max_queue_bytes": 65_536,
    "live_sets.on_backpressure": "invalidate",
    "live_sets.heartbeat_seconds": 20,
    "live_sets.scope_recheck_seconds": 30,
    "live_sets.scope_grace_periods": 3,
    "live_sets.aggregate_debounce_ms": 150,
    "live_sets.max_subscriptions_per_user": 50,
    "live_sets.max_subscriptions_per_address": 100,
    "live_sets.max_subscriptions": 10_000,
    "live_sets.trusted_proxy_hops": 0,
}
ECPDS_DEFAULTS = {
    "ecpds.username": "",
    "ecpds.password": Secret(""),
    "ecpds.servers": (),
    "ecpds.match_key": "",
    "ecpds.target_field": "name",
    "ecpds.cache_ttl_seconds": 300,
    "ecpds.max_entries": 10_000,
    "ecpds.request_timeout_seconds": 30,
    "ecpds.connect_timeout_seconds": 5,
    "ecpds.partial_outage_policy": "strict",
}
ISSUER_DEFAULTS = {
    "jwks_url": "",
    "jwks_file": "",
    "ca_file": "",
    "realm": "",
    "realm_claim": "",
    "roles_claim": "roles",
    "username_claim": "sub",
}
ISSUER = {"issuer": "https://id.example", "audience": "aviso"}
REQUIRED = {"application.host", "application.port", "notification_backend.kind"}


def _settings(**blocks: object) -> Settings:
    settings, faults = decode(Settings, MINIMAL | blocks)
    assert not faults
    assert settings is not None
    return settings


def _with(path: str, value: object) -> dict[str, object]:
    """Return the block that sets one key, by its dotted path, beside what is required in that block."""
    first, *rest = path.split(".")
    for key in reversed(rest):
        value = {key: value}
    return merge([{first: MINIMAL.get(first)}, {first: value}])


@pytest.mark.parametrize(("path", "default"), DEFAULTS.items())
def test_a_key_has_its_default(path: str, default: object) -> None:
    assert attrgetter(path)(_settings()) == default


@pytest.mark.parametrize(("path", "default"), ECPDS_DEFAULTS.items())
def test_a_key_of_a_present_ecpds_block_has_its_default(path: str, default: object) -> None:
    assert attrgetter(path)(_settings(ecpds={})) == default


@pytest.mark.parametrize(("key", "default"), ISSUER_DEFAULTS.items())
def test_a_key_of_an_issuer_has_its_default(key: str, default: object) -> None:
    (issuer,) = _settings(auth={"issuers": [ISSUER]}).auth.issuers
    assert getattr(issuer, key) == default


def test_the_tables_above_are_complete() -> None:
    """A new setting is a new row."""
    assert set(Issuer.__struct_fields__) == ISSUER.keys() | ISSUER_DEFAULTS.keys()
    assert DEFAULTS.keys() | ECPDS_DEFAULTS.keys() - {"ecpds"} | REQUIRED == {
        "ecpds",
        *_leaves(_settings(ecpds={})),
    }


def _leaves(block: object, path: str = "") -> list[str]:
    if not hasattr(block, "__struct_fields__"):
        return [path]
    below = path and f"{path}."
    return [leaf for key in block.__struct_fields__ for leaf in _leaves(getattr(block, key), f"{below}{key}")]


def test_each_watch_key_has_a_default_of_its_own() -> None:
    """A block that holds only some of its keys is complete."""
    watch = _settings(watch_endpoint={"replay_batch_size": 5}).watch_endpoint
    assert watch.replay_batch_size == 5
    assert watch.sse_heartbeat_interval_sec == 30


@pytest.mark.parametrize(
    ("path", "written", "read"),
    [
        ("application.port", 0, 0),
        ("application.port", "8000", 8000),
        ("application.port", 65_535, 65_535),
        ("logging.otlp.protocol", "http", "http"),
        ("tracing.sample_ratio", "0.25", 0.25),
        ("tracing.sample_ratio", 0, 0.0),
        ("auth.mode", "trusted_proxy", "trusted_proxy"),
        ("auth.admin_roles", {"main": ["operator", "*"]}, {"main": ("operator", "*")}),
        ("auth.direct_cache_seconds", "30", 30),
        ("auth.kubernetes.enabled", "true", True),
        ("auth.kubernetes.review.cache_seconds", 0, 0),
        ("auth.issuers", [ISSUER], (Issuer(issuer="https://id.example", audience="aviso"),)),
        ("ingest.max_bytes_in_flight", "1048576", 1_048_576),
        ("notification_backend.jetstream.storage_type", "memory", "memory"),
        ("notification_backend.jetstream.retention_policy", "interest", "interest"),
        ("notification_backend.jetstream.discard_policy", "new", "new"),
        ("notification_backend.jetstream.max_messages", -1, -1),
        ("notification_backend.jetstream.max_bytes", "1073741824", 1_073_741_824),
        ("registry.kind", "folder", "folder"),
        ("registry.kind", "jetstream", "jetstream"),
        ("registry.folder", "/etc/aviso/schemas", "/etc/aviso/schemas"),
        ("watch_endpoint.replay_batch_delay_ms", 100, 100),
        ("streams.max_streams_per_user", "50", 50),
        ("notification_schema_strict", "true", True),
        ("ecpds.partial_outage_policy", "any_success", "any_success"),
        ("live_sets.on_backpressure", "drop", "drop"),
    ],
)
def test_a_key_takes_its_values(path: str, written: object, read: object) -> None:
    assert attrgetter(path)(_settings(**_with(path, written))) == read


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("application.port", 65_536),
        ("application.port", -1),
        ("application.port", "http"),
        ("logging.otlp.protocol", "HTTP"),
        ("tracing.protocol", "udp"),
        ("tracing.sample_ratio", "all"),
        ("auth.mode", "proxy"),
        ("auth.admin_roles", ["operator"]),
        ("auth.direct_cache_seconds", -1),
        ("auth.jwks_refresh_seconds", "often"),
        ("auth.issuers", ISSUER),
        ("auth.kubernetes.audience", ["aviso"]),
        ("auth.kubernetes.review.cache_seconds", -1),
        ("ingest.max_bytes_in_flight", -1),
        ("metrics.port", 70_000),
        ("notification_backend.jetstream.storage_type", "tape"),
        ("notification_backend.jetstream.retention_policy", "forever"),
        ("notification_backend.jetstream.discard_policy", "all"),
        ("notification_backend.jetstream.max_messages", -2),
        ("registry.kind", "zookeeper"),
        ("registry.kind", "Folder"),
        ("registry.folder", ["/etc/aviso/schemas"]),
        ("watch_endpoint.replay_batch_size", -1),
        ("watch_endpoint.replay_batch_size", 2**63),
        ("streams.max_waiting_bytes", -1),
        ("streams.stalled_seconds", 0.5),
        ("notification_schema", ["mars"]),
        ("ecpds.servers", "https://one"),
        ("ecpds.partial_outage_policy", "none"),
        ("live_sets.on_backpressure", "wait"),
    ],
)
def test_a_key_refuses_other_values(path: str, written: object) -> None:
    _, (fault,) = decode(Settings, MINIMAL | _with(path, written))
    assert fault.path == path


@pytest.mark.parametrize(
    ("block", "key"),
    [
        ("logging", "format"),
        ("application", "separator"),
        ("metrics", "path"),
        ("registry", "host"),
        ("live_sets", "colour"),
    ],
)
def test_keys_of_other_releases_are_ignored(block: str, key: str) -> None:
    _settings(**_with(f"{block}.{key}", "anything"))
    _settings(notification_backend={"kind": "jetstream", "jetstream": {"enable_auto_reconnect": "maybe"}})


@pytest.mark.parametrize(
    ("path", "block"),
    [
        ("auth.issuer", {"issuer": ISSUER}),
        ("auth.issuers[0].realms", {"issuers": [ISSUER | {"realms": "main"}]}),
        ("auth.kubernetes.audiences", {"kubernetes": {"audiences": ["aviso"]}}),
        ("auth.kubernetes.review.bearer", {"kubernetes": {"review": {"bearer": "x"}}}),
    ],
)
def test_a_misspelt_key_of_auth_is_refused(path: str, block: dict[str, object]) -> None:
    """Its default could open a door that somebody meant to close."""
    _, (fault,) = decode(Settings, MINIMAL | {"auth": block})
    assert fault.path == path


@pytest.mark.parametrize("key", ISSUER)
def test_an_issuer_without_a_name_or_an_audience_is_refused(key: str) -> None:
    """A token that was made for another service must open nothing here."""
    issuer = {name: value for name, value in ISSUER.items() if name != key}
    _, (fault,) = decode(Settings, MINIMAL | {"auth": {"issuers": [issuer]}})
    assert fault.path == f"auth.issuers[0].{key}"


@pytest.mark.parametrize(("configured", "kept"), [(0, 1), (1, 1), (20, 20)])
def test_a_history_of_none_keeps_one(configured: int, kept: int) -> None:
    assert InMemory(max_history_per_topic=configured).history_per_topic == kept


@pytest.mark.parametrize(
    ("configured", "connecting", "subscribing"), [(None, None, 5), (0, None, 1), (3, 3, 3)]
)
def test_attempts_to_reconnect_mean_two_things(
    configured: int | None, connecting: int | None, subscribing: int
) -> None:
    jetstream = JetStream(max_reconnect_attempts=configured)
    assert jetstream.reconnect_attempts == connecting
    assert jetstream.subscribe_attempts == subscribing


@pytest.mark.parametrize(
    ("protocol", "endpoint", "target"),
    [
        ("grpc", "http://collector:4317", "http://collector:4317"),
        ("grpc", "https://collector:4317", "https://collector:4317"),
        ("grpc", "collector:4317", "http://collector:4317"),
        ("http", "collector:4318", "http://collector:4318/v1/logs"),
        ("http", "https://collector/", "https://collector/v1/logs"),
        ("http", "https://collector/otel", "https://collector/otel/v1/logs"),
        ("http", "https://collector/v1/logs", "https://collector/v1/logs"),
        ("http", "collector/v1/logs/", "http://collector/v1/logs/"),
    ],
)
def test_the_address_of_the_collector_is_completed(protocol: str, endpoint: str, target: str) -> None:
    assert Otlp(enabled=True, endpoint=endpoint, protocol=protocol).target == target  # type: ignore[arg-type]  # a table


@pytest.mark.parametrize(
    ("protocol", "endpoint", "target"),
    [
        ("grpc", "collector:4317", "http://collector:4317"),
        ("http", "collector:4318", "http://collector:4318/v1/traces"),
        ("http", "https://collector/v1/traces", "https://collector/v1/traces"),
        ("http", None, None),
    ],
)
def test_spans_have_a_path_of_their_own(protocol: str, endpoint: str | None, target: str | None) -> None:
    """Without an address there is nothing to complete."""
    assert Tracing(enabled=True, endpoint=endpoint, protocol=protocol).target == target  # type: ignore[arg-type]  # a table


def test_settings_do_not_change() -> None:
    settings = _settings()
    with pytest.raises(AttributeError):
        settings.application.port = 1  # type: ignore[misc]  # that is what is tested


def test_showing_settings_shows_no_secret() -> None:
    settings = _settings(
        auth={"jwt_secret": "correct-horse"},
        ecpds={"password": "correct-horse", "servers": ["https://ann:correct-horse@one"]},
        notification_backend={
            "kind": "jetstream",
            "jetstream": {"token": "correct-horse", "nats_url": "nats://correct-horse@broker"},
        },
    )
    assert "correct-horse" not in f"{settings} {settings!r} {settings.notification_backend.jetstream}"


def test_every_setting_is_documented() -> None:
    """The text below a field is its reference."""
    classes = [node for node in ast.parse(inspect.getsource(model)).body if isinstance(node, ast.ClassDef)]
    undocumented = [
        f"{block.name}.{ast.unparse(field.target)}"
        for block in classes
        for field, after in zip(block.body, [*block.body[1:], None], strict=True)
        if isinstance(field, ast.AnnAssign)
        if not (isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant))
    ]
    assert classes
    assert not undocumented
