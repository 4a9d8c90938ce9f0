"""What a process refuses to start with because of its settings alone."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aviso_core.plain.decode import decode
from aviso_core.settings.model import Ecpds, Settings
from aviso_core.settings.refusals import ecpds_faults
from aviso_core.startup import startup_faults

SECRET = "correct-horse"
LINK = "must be an absolute HTTP(S) URL with a host and no embedded credentials"

# A configuration with everything switched on and nothing wrong.
GOOD: dict[str, dict[str, object]] = {
    "application": {"host": "127.0.0.1", "port": 8000},
    "logging": {"otlp": {"enabled": True, "endpoint": "http://collector:4317"}},
    "auth": {
        "enabled": True,
        "auth_o_tron_url": "http://auth:8080",
        "jwt_secret": SECRET,
        "admin_roles": {"main": ["operator"]},
    },
    "metrics": {"enabled": True, "port": 9000},
    "notification_backend": {"kind": "jetstream"},
    "ecpds": {
        "username": "service",
        "password": SECRET,
        "servers": ["https://ecpds.example"],
        "match_key": "destination",
    },
}


def _settings(changes: dict[str, object]) -> Settings:
    """Return the good settings with some keys, given by dotted path, changed."""
    raw = copy.deepcopy(GOOD)
    for path, value in changes.items():
        *blocks, key = path.split(".")
        block: dict[str, object] = raw  # type: ignore[assignment]  # the outermost block is a mapping as well
        for name in blocks:
            inner = block.setdefault(name, {})
            assert isinstance(inner, dict)
            block = inner
        block[key] = value
    settings, faults = decode(Settings, raw)
    assert settings is not None, faults
    return settings


def _told(changes: dict[str, object]) -> list[tuple[str, str]]:
    faults = startup_faults(_settings(changes), streams=[], schema_faults=[])
    assert all(fault.remedy for fault in faults)
    assert SECRET not in str(faults)
    return [(fault.path, fault.message) for fault in faults]


def test_a_good_configuration_is_not_refused() -> None:
    assert _told({}) == []


# --- application -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [
        "client_documentation_url",
        "client_repository_url",
        "server_documentation_url",
        "server_repository_url",
    ],
)
@pytest.mark.parametrize(
    "link",
    [
        "",
        "docs",
        "/docs",
        "//docs.example",
        "javascript:alert(1)",
        "ftp://docs.example",
        "http://",
        "https:///docs",
        "https://ann:pass@docs.example",
        "https://ann@docs.example",
        "https://:pass@docs.example",
    ],
)
def test_a_link_of_the_home_page_is_absolute_and_open(key: str, link: str) -> None:
    path = f"application.homepage.{key}"
    assert _told({path: link}) == [(path, f"{path} {LINK}")]


@pytest.mark.parametrize(
    "link", ["http://docs.example", "HTTPS://docs.example:8443/a?b=c#d", "http://[::1]/docs"]
)
def test_a_link_of_the_home_page_may_be_any_web_address(link: str) -> None:
    assert _told({"application.homepage.client_repository_url": link}) == []


@pytest.mark.parametrize(
    "url", ["", "localhost", "127.0.0.1:8000", "http://", "http://host:99999", "http://a b"]
)
def test_a_base_address_that_is_none_is_refused(url: str) -> None:
    path = "application.base_url"
    assert _told({path: url}) == [(path, "is not an absolute URL, so no event could be rendered")]


@pytest.mark.parametrize("url", ["http://localhost:8000", "https://host/below/", "localhost:8000"])
def test_a_base_address_that_can_be_parsed_is_taken(url: str) -> None:
    """The last one is a scheme and a path, and files written for the reference server have it."""
    assert _told({"application.base_url": url}) == []


def test_an_empty_host_is_refused() -> None:
    """It would mean every interface."""
    assert _told({"application.host": ""}) == [("application.host", "is empty")]


def test_processes_that_share_a_port_share_a_history() -> None:
    path = "application.reuse_port"
    assert _told({path: True}) == []
    assert _told({path: True, "application.port": 0}) == [
        (path, "needs a port: with application.port 0 each process takes one of its own")
    ]
    assert _told({path: True, "notification_backend": {"kind": "in_memory"}}) == [
        (path, "needs a log that the processes share: each would have a history of its own in memory")
    ]


@pytest.mark.parametrize(
    "origin",
    ["", "portal.example", "https://portal.example/", "https://a@portal.example", "null", "ftp://a"],
)
def test_an_origin_is_scheme_host_and_port(origin: str) -> None:
    told = _told({"application.cors": {"allowed_origins": ["https://ok.example:8443", origin]}})
    assert told == [("application.cors.allowed_origins[1]", "is not an origin")]


def test_credentials_are_not_for_every_origin() -> None:
    cors = "application.cors"
    assert _told({cors: {"allowed_origins": ["*"]}}) == []
    assert _told({cors: {"allowed_origins": ["https://a.example"], "allow_credentials": True}}) == []
    assert _told({cors: {"allowed_origins": ["*"], "allow_credentials": True}}) == [
        ("application.cors.allow_credentials", "cannot be true while every origin is allowed")
    ]


# --- the event log ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["kafka", "", "In_Memory", "jet stream"])
def test_an_unknown_backend_is_named(kind: str) -> None:
    path = "notification_backend.kind"
    assert _told({path: kind}) == [(path, f"Unknown notification_backend kind: {kind}")]


@pytest.mark.parametrize(
    "key",
    [
        "timeout_seconds",
        "retry_attempts",
        "reconnect_delay_ms",
        "publish_retry_attempts",
        "publish_retry_base_delay_ms",
    ],
)
def test_jetstream_has_no_zero_timeouts_and_attempts(key: str) -> None:
    path = f"notification_backend.jetstream.{key}"
    assert _told({path: 0}) == [(path, "must be greater than zero")]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("max_reconnect_attempts", 0),
        ("max_messages", 0),
        ("max_messages", -1),
        ("max_bytes", 0),
        ("replicas", 0),
        ("retention_time", "30d"),
        ("retention_time", "2W"),
        ("retention_time", "9223372036s"),
        ("retention_policy", "interest"),
    ],
)
def test_jetstream_takes_what_means_something_to_it(key: str, value: object) -> None:
    assert _told({f"notification_backend.jetstream.{key}": value}) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("0d", "must be longer than nothing"),
        ("", "'' is not a duration"),
        ("7", "'7' is not a duration"),
        ("1.5h", "'1.5h' is not a duration"),
        ("7 d", "'7 d' is not a duration"),
        ("-7d", "'-7d' is not a duration"),
        ("9223372037s", "'9223372037s' is too long"),
    ],
)
def test_a_bad_retention_time_is_refused(text: str, told: str) -> None:
    path = "notification_backend.jetstream.retention_time"
    ((where, message),) = _told({path: text})
    assert where == path
    assert message.startswith(told)


def test_a_retention_time_of_very_many_digits_is_refused() -> None:
    """Python itself refuses to read such a number."""
    path = "notification_backend.jetstream.retention_time"
    assert [where for where, _ in _told({path: "9" * 10_000 + "s"})] == [path]


def test_work_queues_are_refused() -> None:
    path = "notification_backend.jetstream.retention_policy"
    ((where, message),) = _told({path: "workqueue"})
    assert where == path
    assert message.startswith("workqueue is refused")


def test_a_broker_without_address_is_refused() -> None:
    path = "notification_backend.jetstream.nats_url"
    assert _told({path: ""}) == [(path, "is empty")]


def test_a_log_without_topics_is_refused() -> None:
    path = "notification_backend.in_memory.max_topics"
    assert _told({"notification_backend.kind": "in_memory", path: 0}) == [(path, "must be greater than zero")]


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("in_memory", "notification_backend.jetstream.timeout_seconds"),
        ("jetstream", "notification_backend.in_memory.max_topics"),
    ],
)
def test_the_other_backend_is_not_looked_at(kind: str, path: str) -> None:
    assert _told({"notification_backend.kind": kind, path: 0}) == []


# --- auth ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"auth.timeout_ms": 0}, [("auth.timeout_ms", "must be greater than zero")]),
        (
            {"auth.admin_roles": {}},
            [("auth.admin_roles", "must name at least one realm while auth is enabled")],
        ),
        ({"auth.admin_roles": {"main": []}}, [("auth.admin_roles.main", "has no roles")]),
        ({"auth.admin_roles": {"": ["a"]}}, [("auth.admin_roles.''", "the name of the realm is empty")]),
        ({"auth.admin_roles": {"  ": ["a"]}}, [("auth.admin_roles.  ", "the name of the realm is empty")]),
        (
            {"auth.admin_roles": {" main": ["a"]}},
            [("auth.admin_roles. main", "the name of the realm begins or ends with whitespace")],
        ),
        ({"auth.admin_roles": {"main": ["a", ""]}}, [("auth.admin_roles.main[1]", "is empty")]),
        ({"auth.admin_roles": {"main": ["\t"]}}, [("auth.admin_roles.main[0]", "is empty")]),
        (
            {"auth.admin_roles": {"main": ["a "]}},
            [("auth.admin_roles.main[0]", "begins or ends with whitespace")],
        ),
        ({"auth.auth_o_tron_url": ""}, [("auth.auth_o_tron_url", "is empty")]),
        ({"auth.auth_o_tron_url": " "}, [("auth.auth_o_tron_url", "is empty")]),
        ({"auth.auth_o_tron_url": " http://a"}, [("auth.auth_o_tron_url", "begins or ends with whitespace")]),
        ({"auth.jwt_secret": ""}, [("auth.jwt_secret", "is empty")]),
        ({"auth.jwt_secret": f"{SECRET}\n"}, [("auth.jwt_secret", "begins or ends with whitespace")]),
        ({"auth.mode": "trusted_proxy", "auth.jwt_secret": ""}, [("auth.jwt_secret", "is empty")]),
        ({"auth.mode": "trusted_proxy", "auth.auth_o_tron_url": ""}, []),
        ({"auth.admin_roles": {"main": ["*"], "other": ["a b"]}}, []),
        (
            {"auth.admin_roles": {}, "auth.timeout_ms": 0, "auth.jwt_secret": "", "auth.auth_o_tron_url": ""},
            [
                ("auth.timeout_ms", "must be greater than zero"),
                ("auth.admin_roles", "must name at least one realm while auth is enabled"),
                ("auth.auth_o_tron_url", "is empty"),
                ("auth.jwt_secret", "is empty"),
            ],
        ),
    ],
)
def test_auth_needs_what_it_works_with(changes: dict[str, object], told: list[tuple[str, str]]) -> None:
    assert _told(changes) == told
    assert _told(changes | {"auth.enabled": False}) == []


ISSUER = {"issuer": "https://id.example", "audience": "aviso", "realm": "staff", "jwks_file": "/keys"}
BOTH = "are both set"
NEITHER = "are both missing"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, []),
        ({"issuer": ""}, [("issuer", "is empty")]),
        ({"issuer": "https://id.example "}, [("issuer", "begins or ends with whitespace")]),
        ({"audience": " "}, [("audience", "is empty")]),
        ({"roles_claim": ""}, [("roles_claim", "is empty")]),
        ({"username_claim": ""}, [("username_claim", "is empty")]),
        ({"realm": ""}, [("realm", f"realm and realm_claim {NEITHER}")]),
        ({"realm_claim": "tenant"}, [("realm", f"realm and realm_claim {BOTH}")]),
        ({"realm": "", "realm_claim": "tenant"}, []),
        ({"realm": " staff"}, [("realm", "begins or ends with whitespace")]),
        ({"jwks_file": ""}, [("jwks_url", f"jwks_url and jwks_file {NEITHER}")]),
        ({"jwks_url": "https://id.example/keys"}, [("jwks_url", f"jwks_url and jwks_file {BOTH}")]),
    ],
)
def test_an_issuer_needs_what_its_tokens_are_checked_by(
    changes: dict[str, str], told: list[tuple[str, str]]
) -> None:
    expected = [(f"auth.issuers[0].{key}", message) for key, message in told]
    assert _told({"auth.issuers": [ISSUER | changes]}) == expected
    assert _told({"auth.issuers": [ISSUER | changes], "auth.enabled": False}) == []


@pytest.mark.parametrize("key", ["auth.issuers[0].jwks_url", "auth.kubernetes.jwks_url"])
@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("https://id.example/keys", None),
        ("http://127.0.0.1:8080/keys", None),
        ("http://[::1]/keys", None),
        ("http://id.example/keys", "would be asked without encryption"),
        ("http://127.0.0.1.example/keys", "would be asked without encryption"),
        ("id.example/keys", "is not an absolute URL"),
        ("ftp://id.example/keys", "is not an absolute URL"),
        ("file:///etc/keys", "is not an absolute URL"),
        (f"https://ann:{SECRET}@id.example/keys", "carries credentials"),
    ],
)
def test_a_key_set_comes_from_nobody_else(key: str, address: str, told: str | None) -> None:
    changes: dict[str, object] = (
        {"auth.issuers": [ISSUER | {"jwks_file": "", "jwks_url": address}]}
        if key.startswith("auth.issuers")
        else {"auth.kubernetes": {"enabled": True, "issuer": "https://cluster", "jwks_url": address}}
    )
    assert _told(changes) == ([(key, told)] if told else [])


def test_an_issuer_is_named_once() -> None:
    assert _told({"auth.issuers": [ISSUER, ISSUER | {"issuer": "https://other"}, ISSUER]}) == [
        ("auth.issuers[2].issuer", "is configured twice")
    ]
    kubernetes = {"enabled": True, "issuer": ISSUER["issuer"]}
    assert _told({"auth.issuers": [ISSUER], "auth.kubernetes": kubernetes}) == [
        ("auth.issuers[0].issuer", "is configured twice")
    ]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, []),
        ({"audience": ""}, [("audience", "is empty")]),
        ({"realm": " "}, [("realm", "is empty")]),
        ({"jwks_file": "/keys"}, [("issuer", "is empty")]),
        ({"jwks_file": "/keys", "issuer": "https://cluster"}, []),
        (
            {"jwks_file": "/keys", "jwks_url": "https://cluster/keys", "issuer": "https://cluster"},
            [("jwks_url", f"jwks_url and jwks_file {BOTH}")],
        ),
        ({"issuer": " https://cluster"}, [("issuer", "begins or ends with whitespace")]),
        ({"review": {"bearer_file": "/token"}}, []),
        ({"review": {"bearer_file": " /token"}}, [("review.bearer_file", "begins or ends with whitespace")]),
        (
            {"review": {"bearer_file": "/token", "url": "http://cluster"}},
            [("review.url", "would be asked without encryption")],
        ),
        ({"review": {"url": "http://cluster"}}, []),
    ],
)
def test_tokens_of_a_cluster_need_what_they_are_checked_by(
    changes: dict[str, object], told: list[tuple[str, str]]
) -> None:
    expected = [(f"auth.kubernetes.{key}", message) for key, message in told]
    assert _told({"auth.kubernetes": changes | {"enabled": True}}) == expected
    assert _told({"auth.kubernetes": changes | {"enabled": False}}) == []


def test_where_issuers_are_believed_a_proxy_needs_no_secret() -> None:
    """Direct mode needs one all the same: the auth service answers with tokens that are signed with it."""
    without: dict[str, object] = {"auth.jwt_secret": "", "auth.issuers": [ISSUER]}
    assert _told(without | {"auth.mode": "trusted_proxy"}) == []
    assert _told(without) == [("auth.jwt_secret", "is empty")]
    assert _told({"auth.issuers": [ISSUER], "auth.jwks_refresh_seconds": 0}) == [
        ("auth.jwks_refresh_seconds", "must be greater than zero")
    ]


# --- metrics, logging, limits ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("port", "told"),
    [
        (None, "is required while metrics are enabled"),
        (0, "must not be 0: nobody could know where to read the metrics"),
        (8000, "must not be application.port: the metrics have a listener of their own"),
    ],
)
def test_metrics_need_a_known_port_of_their_own(port: int | None, told: str) -> None:
    assert _told({"metrics.port": port}) == [("metrics.port", told)]
    assert _told({"metrics.port": port, "metrics.enabled": False}) == []


@pytest.mark.parametrize("endpoint", [None, "", "  "])
def test_export_of_logs_needs_an_endpoint(endpoint: str | None) -> None:
    path = "logging.otlp.endpoint"
    assert _told({path: endpoint}) == [(path, "logging.otlp.enabled=true requires logging.otlp.endpoint")]
    assert _told({path: endpoint, "logging.otlp.enabled": False}) == []


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("endpoint", "", "is empty"),
        ("endpoint", "  ", "is empty"),
        ("endpoint", None, None),
        ("sample_ratio", 0, None),
        ("sample_ratio", 1.0, None),
        ("sample_ratio", 1.1, "must be from 0 to 1"),
        ("sample_ratio", -0.1, "must be from 0 to 1"),
        ("sample_ratio", float("nan"), "must be from 0 to 1"),
    ],
)
def test_tracing_needs_a_share_and_no_empty_address(key: str, value: object, told: str | None) -> None:
    """Both matter only while requests are traced."""
    changes = {f"tracing.{key}": value}
    assert _told({**changes, "tracing.enabled": True}) == ([(f"tracing.{key}", told)] if told else [])
    assert _told(changes) == []


@pytest.mark.parametrize(
    ("path", "refused"),
    [
        ("watch_endpoint.sse_heartbeat_interval_sec", True),
        ("watch_endpoint.connection_max_duration_sec", True),
        ("watch_endpoint.replay_batch_size", True),
        ("watch_endpoint.max_historical_notifications", True),
        ("watch_endpoint.replay_batch_delay_ms", False),
        ("watch_endpoint.concurrent_notification_processing", False),
        ("streams.max_waiting_bytes", True),
        ("streams.send_buffer_bytes", True),
        ("streams.stalled_seconds", True),
        ("streams.max_streams", True),
        ("streams.max_streams_per_user", False),
        ("streams.max_streams_per_address", False),
        ("streams.trusted_proxy_hops", False),
        ("streams.lifetime_jitter_percent", False),
        ("streams.drain_seconds", False),
        ("ingest.batch_max_records", True),
        ("ingest.batch_max_bytes", True),
        ("ingest.max_bytes_in_flight", True),
        ("ingest.max_waiting_seconds", False),
        ("live_sets.max_queue_bytes", True),
        ("live_sets.heartbeat_seconds", True),
        ("live_sets.scope_recheck_seconds", False),
        ("live_sets.scope_grace_periods", False),
        ("live_sets.aggregate_debounce_ms", False),
        ("live_sets.max_subscriptions_per_user", True),
        ("live_sets.max_subscriptions_per_address", True),
        ("live_sets.max_subscriptions", True),
        ("live_sets.trusted_proxy_hops", False),
    ],
)
def test_zero_is_refused_where_it_would_stop_everything(path: str, refused: bool) -> None:
    assert _told({path: 0}) == ([(path, "must be greater than zero")] if refused else [])


@pytest.mark.parametrize(("percent", "refused"), [(0, False), (100, False), (101, True)])
def test_a_stream_lasts_longer_than_nothing(percent: int, refused: bool) -> None:
    """By more than all of it no lifetime can be cut."""
    path = "streams.lifetime_jitter_percent"
    assert _told({path: percent}) == ([(path, "must be from 0 to 100")] if refused else [])


# --- ECPDS -----------------------------------------------------------------------------------------------


def _ecpds_told(changes: dict[str, object]) -> list[tuple[str, str]]:
    ecpds, faults = decode(Ecpds, GOOD["ecpds"] | changes)
    assert ecpds is not None, faults
    assert all(fault.remedy for fault in ecpds_faults(ecpds))
    return [(fault.path, fault.message) for fault in ecpds_faults(ecpds)]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, []),
        ({"servers": []}, [("ecpds.servers", "names no server")]),
        ({"servers": ["https://a", "https://b/base/"]}, []),
        ({"servers": ["http://127.0.0.1:1", "http://[::1]:1", "http://localhost:1"]}, []),
        ({"servers": ["http://ecpds.example"]}, [("ecpds.servers[0]", "would be asked without encryption")]),
        ({"servers": ["http://127.0.0.2"]}, [("ecpds.servers[0]", "would be asked without encryption")]),
        ({"servers": ["https://a", "b"]}, [("ecpds.servers[1]", "is not an absolute URL")]),
        ({"servers": ["ftp://a"]}, [("ecpds.servers[0]", "is not an absolute URL")]),
        ({"servers": [""]}, [("ecpds.servers[0]", "is not an absolute URL")]),
        ({"servers": ["https://a?x=1"]}, [("ecpds.servers[0]", "has a query or a fragment")]),
        ({"servers": ["https://a/#"]}, [("ecpds.servers[0]", "has a query or a fragment")]),
        (
            {"servers": ["http://a?x"]},
            [
                ("ecpds.servers[0]", "would be asked without encryption"),
                ("ecpds.servers[0]", "has a query or a fragment"),
            ],
        ),
        ({"username": ""}, [("ecpds.username", "is empty")]),
        ({"username": "service "}, [("ecpds.username", "begins or ends with whitespace")]),
        ({"password": " "}, [("ecpds.password", "is empty")]),
        ({"password": f" {SECRET}"}, [("ecpds.password", "begins or ends with whitespace")]),
        ({"target_field": ""}, [("ecpds.target_field", "is empty")]),
        ({"target_field": " name"}, [("ecpds.target_field", "begins or ends with whitespace")]),
        *(
            ({key: 0}, [(f"ecpds.{key}", "must be greater than zero")])
            for key in (
                "cache_ttl_seconds",
                "max_entries",
                "request_timeout_seconds",
                "connect_timeout_seconds",
            )
        ),
        ({"match_key": ""}, [("ecpds.match_key", "is empty")]),
        ({"match_key": "a b"}, [("ecpds.match_key", "has whitespace or a slash in it")]),
        ({"match_key": "destination\u00a0"}, [("ecpds.match_key", "has whitespace or a slash in it")]),
        ({"match_key": "a/b"}, [("ecpds.match_key", "has whitespace or a slash in it")]),
    ],
)
def test_the_ecpds_block_is_checked(changes: dict[str, object], told: list[tuple[str, str]]) -> None:
    assert _ecpds_told(changes) == told


def test_an_ecpds_block_that_no_stream_uses_may_be_unfinished() -> None:
    assert _told({"ecpds": {}}) == []


# --- the registry of schemas -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"registry.kind": "memory"},
        {"registry.kind": "memory", "notification_schema": {"mars": {}}},
        {"registry.kind": "folder", "registry.folder": "schemas"},
        {"registry.kind": "folder", "registry.folder": "/a b", "notification_schema": {"mars": {}}},
        {"registry.kind": "jetstream"},
        {"registry.kind": "jetstream", "notification_schema": {}},
    ],
)
def test_a_registry_that_can_be_had_is_not_refused(changes: dict[str, object]) -> None:
    """Whether a folder is there is seen when it is opened."""
    assert _told(changes) == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"kind": "folder"}, "is required while registry.kind is folder"),
        ({"kind": "folder", "folder": ""}, "is empty"),
        ({"kind": "folder", "folder": " schemas"}, "begins or ends with whitespace"),
        ({"folder": "schemas"}, "is not looked at while registry.kind is memory"),
        ({"kind": "jetstream", "folder": "schemas"}, "is not looked at while registry.kind is jetstream"),
    ],
)
def test_a_folder_is_named_where_it_is_looked_at_and_only_there(changes: object, told: str) -> None:
    assert _told({"registry": changes}) == [("registry.folder", told)]


def test_a_registry_at_the_broker_needs_the_log_there() -> None:
    told = _told({"registry.kind": "jetstream", "notification_backend.kind": "in_memory"})
    assert told == [("registry.kind", "jetstream is at the broker of the log, and the log has none")]


def test_where_the_operator_declares_event_types_the_configuration_does_not() -> None:
    ((path, told),) = _told({"registry.kind": "jetstream", "notification_schema": {"mars": {}}})
    assert path == "notification_schema"
    assert told == "declares event types, and while registry.kind is jetstream only the operator does"


# --- all of them -----------------------------------------------------------------------------------------


def test_everything_is_told_at_once_and_in_order() -> None:
    told = _told(
        {
            "registry.folder": "schemas",
            "live_sets.max_subscriptions": 0,
            "watch_endpoint.replay_batch_size": 0,
            "logging.otlp.endpoint": None,
            "metrics.port": 0,
            "auth.admin_roles": {},
            "notification_backend.kind": "kafka",
            "application.base_url": "",
            "application.homepage.server_repository_url": "",
        }
    )
    assert [path for path, _ in told] == [
        "application.homepage.server_repository_url",
        "application.base_url",
        "notification_backend.kind",
        "auth.admin_roles",
        "metrics.port",
        "logging.otlp.endpoint",
        "watch_endpoint.replay_batch_size",
        "live_sets.max_subscriptions",
        "registry.folder",
    ]


@given(st.text(), st.text(), st.lists(st.text()), st.dictionaries(st.text(), st.lists(st.text())))
def test_any_texts_can_be_judged(
    one: str, other: str, several: list[str], roles: dict[str, list[str]]
) -> None:
    changes: dict[str, object] = {
        "application.base_url": one,
        "application.homepage.client_repository_url": other,
        "application.cors.allowed_origins": several,
        "notification_backend.jetstream.retention_time": one,
        "auth.admin_roles": roles,
        "auth.jwt_secret": other,
    }
    startup_faults(_settings(changes), streams=[], schema_faults=[])
    _ecpds_told({"servers": several, "match_key": one})
