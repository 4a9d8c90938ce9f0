"""What can be configured: one tree of Structs, one class per block of the configuration file.

A default here is the contract's; a field without one is required. Keys that the contract knows but gives no meaning
any more (`logging.format`, `jetstream.enable_auto_reconnect`) are not here: outside `auth` and `ecpds`, which refuse
unknown keys, such keys are ignored, and that accepts them.

Types say what a value is, not whether it makes sense: a number of seconds may be zero here and is refused in
`refusals`, because most such rules hold only when the feature is switched on. What is derived from several keys, or
from a key and the environment, is a property or belongs to the loader.

`notification_schema` stays as the file has it. What an event type is belongs to the schema package, which must not
be needed to read a port number. None is an absent block and `{}` an empty one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from aviso_core.plain.secret import Secret, hide_credentials

_LARGEST = 2**63 - 1

Port: TypeAlias = Annotated[int, Meta(ge=0, le=65_535)]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=_LARGEST)]
# The broker spells "unlimited" -1.
Limit: TypeAlias = Annotated[int, Meta(ge=-1, le=_LARGEST)]
Roles: TypeAlias = Mapping[str, tuple[str, ...]]


class _Block(msgspec.Struct, frozen=True, kw_only=True):
    """A block of the configuration in which unknown keys are ignored."""

    def __repr__(self) -> str:
        # An address may carry credentials, and `nats_url` often does.
        return hide_credentials(super().__repr__())


class _StrictBlock(_Block, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A block in which a misspelt key would open a door, so unknown keys are refused."""


# --- application -----------------------------------------------------------------------------------------


class Homepage(_Block, frozen=True, kw_only=True):
    """The links of the home page: absolute, http or https, without credentials."""

    client_documentation_url: str = "https://sites.ecmwf.int/docs/aviso-client/main/"
    """How to use the service."""

    client_repository_url: str = "https://github.com/ecmwf/aviso-client"
    """Where the client's sources are."""

    server_documentation_url: str = "https://sites.ecmwf.int/docs/aviso-server/main/"
    """How to run the service."""

    server_repository_url: str = "https://github.com/ecmwf/aviso-server"
    """Where the server's sources are."""


class Cors(_Block, frozen=True, kw_only=True):
    """Which pages of other origins may call the service from a browser. An addition of ours."""

    allowed_origins: tuple[str, ...] = ()
    """Origins such as `https://portal.example`, or `*` for all; none leaves the plain behaviour untouched."""

    allow_credentials: bool = False
    """Whether those pages may send the user's credentials along."""


class Application(_Block, frozen=True, kw_only=True):
    """Where the service listens and what it calls itself."""

    host: str
    """Address to listen on."""

    port: Port
    """Port to listen on; 0 takes a free one."""

    reuse_port: bool = False
    """Whether several processes may listen there, a core for each: Linux spreads connections. An addition of ours."""

    base_url: str = "http://localhost"
    """The `source` of every CloudEvent, and the beginning of its `dataschema`."""

    static_files_path: str = "/app/static"
    """Folder of the home page and of `/static`."""

    homepage: Homepage = Homepage()
    """The links of the home page."""

    cors: Cors = Cors()
    """Which other origins may call."""


# --- logging ---------------------------------------------------------------------------------------------


class Otlp(_Block, frozen=True, kw_only=True):
    """Export of log records to an OpenTelemetry collector."""

    enabled: bool = False
    """Whether records are exported at all."""

    endpoint: str | None = None
    """Address of the collector; required when enabled."""

    protocol: Literal["grpc", "http"] = "grpc"
    """How the collector is spoken to."""

    @property
    def target(self) -> str:
        """The complete address: `http://` where no scheme is given, and over http the path of log records."""
        return _collector_address(self.endpoint, self.protocol, "/v1/logs")


class Logging(_Block, frozen=True, kw_only=True):
    """What is logged, and where besides standard output. The format is always JSON."""

    level: str = "info"
    """One of trace, debug, info, warn, error. The loader puts the effective one here: see `log_level`."""

    otlp: Otlp = Otlp()
    """Export of the same records."""


class Tracing(_Block, frozen=True, kw_only=True):
    """Traces of requests. An addition of ours; without it, a caller's `traceparent` is passed on as it came."""

    enabled: bool = False
    """Whether requests become spans of their own."""

    endpoint: str | None = None
    """Address of the collector; without one, spans are only named in log records and in `traceparent`."""

    protocol: Literal["grpc", "http"] = "grpc"
    """How the collector is spoken to."""

    sample_ratio: float = 1.0
    """From 0 to 1: share of traces that are recorded, where the caller has not decided it."""

    @property
    def target(self) -> str | None:
        """The complete address: `http://` where no scheme is given, and over http the path of spans."""
        if self.endpoint is None:
            return None
        return _collector_address(self.endpoint, self.protocol, "/v1/traces")


def _collector_address(endpoint: str | None, protocol: Literal["grpc", "http"], path: str) -> str:
    trimmed = (endpoint or "").strip()
    address = trimmed if "://" in trimmed else f"http://{trimmed}"
    if protocol == "grpc" or address.rstrip("/").endswith(path):
        return address
    return f"{address.rstrip('/')}{path}"


# --- who may do what -------------------------------------------------------------------------------------


class Issuer(_StrictBlock, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Somebody whose signed tokens (RS256, ES256, EdDSA) are believed. An addition of ours."""

    issuer: str
    """What the `iss` claim of its tokens says, to the letter."""

    audience: str
    """What their `aud` claim must name: a token that was made for another service opens nothing here."""

    jwks_url: str = ""
    """Where its key set is fetched: https, or this machine. Either this or `jwks_file`."""

    jwks_file: str = ""
    """A file with its key set."""

    ca_file: str = ""
    """The authority that signed the certificate behind `jwks_url`, where the system does not know it."""

    realm: str = ""
    """The realm of everybody it vouches for. Either this or `realm_claim`."""

    realm_claim: str = ""
    """The claim that names the realm. The issuer may then speak for any realm, those of administrators included."""

    roles_claim: str = "roles"
    """The claim with the list of roles; dots lead into nested claims, as in `realm_access.roles`."""

    username_claim: str = "sub"
    """The claim with the user's name."""


class Review(_StrictBlock, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Asking the cluster itself about a token (TokenReview), which also notices that its pod is gone."""

    bearer_file: str = ""
    """The file with what the service proves itself by to the cluster; without one nothing is asked."""

    url: str = "https://kubernetes.default.svc"
    """Where the cluster answers."""

    ca_file: str = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"
    """The authority that signed the cluster's certificate."""

    cache_seconds: Count = 60
    """How long an answer is believed; 0 asks about every request."""


class Kubernetes(_StrictBlock, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tokens of a cluster's service accounts, projected for an audience of ours. An addition of ours.

    The realm is the same for all of them. The roles of an account are its namespace and `<namespace>:<account>`, so
    that a role list can name one account, a whole namespace, or with `*` every account of the cluster.
    """

    enabled: bool = False
    """Whether such tokens are believed."""

    issuer: str = ""
    """What their `iss` claim says; empty takes what the registry publishes with the cluster's keys."""

    audience: str = "aviso"
    """The audience that the tokens were requested for."""

    jwks_url: str = ""
    """Where the cluster's key set is fetched. Without this and `jwks_file` it comes from the registry."""

    jwks_file: str = ""
    """A file with the cluster's key set."""

    ca_file: str = ""
    """The authority that signed the certificate behind `jwks_url`, where the system does not know it."""

    realm: str = "kubernetes"
    """The realm of every account."""

    review: Review = Review()
    """Asking the cluster, in addition to its key set or instead of it."""


class Auth(_StrictBlock, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How callers are recognised, and who administers."""

    enabled: bool = False
    """Whether callers are recognised; otherwise everything is open, administration included."""

    mode: Literal["direct", "trusted_proxy"] = "direct"
    """`direct` asks the auth service about every credential; `trusted_proxy` only checks tokens itself."""

    auth_o_tron_url: str = ""
    """Base address of the auth service; required in direct mode."""

    jwt_secret: Secret = Secret("")
    """Key that tokens are signed with; required when enabled, unless the mode is `trusted_proxy` and `issuers` or
    `kubernetes` say whose tokens are believed instead."""

    admin_roles: Roles = {}
    """Realm to roles: who administers. Needs an entry when enabled."""

    timeout_ms: Count = 5000
    """How long the auth service may take, and whoever else is asked about a token."""

    direct_cache_seconds: Count = 0
    """How long an answer of the auth service is believed without asking again, in direct mode. Whoever is locked out
    there may go on here for as long. 0, the default, asks every time. An addition of ours, as are the next three."""

    jwks_refresh_seconds: Count = 300
    """How often key sets are read anew; an unknown key is looked for at once."""

    issuers: tuple[Issuer, ...] = ()
    """Whose signed tokens are believed besides those of the mode."""

    kubernetes: Kubernetes = Kubernetes()
    """Tokens of a cluster's service accounts."""


class Ecpds(_StrictBlock, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The plugin that asks the ECPDS servers which destinations a user may read.

    Nothing is required until a stream names the plugin: an unused block may be unfinished.
    """

    username: str = ""
    """The service's own account at the servers."""

    password: Secret = Secret("")
    """That account's password."""

    servers: tuple[str, ...] = ()
    """Base addresses, all asked in parallel."""

    match_key: str = ""
    """The identifier field whose value is the destination."""

    target_field: str = "name"
    """The member of a destination record that is compared with that value."""

    cache_ttl_seconds: Count = 300
    """How long a user's destinations are remembered."""

    max_entries: Count = 10_000
    """Users whose destinations are remembered at a time."""

    request_timeout_seconds: Count = 30
    """How long a server may take for an answer, connecting included."""

    connect_timeout_seconds: Count = 5
    """How long connecting alone may take."""

    partial_outage_policy: Literal["strict", "any_success"] = "strict"
    """Whether one failing server fails the answer, or only all of them."""


# --- metrics ---------------------------------------------------------------------------------------------


class Metrics(_Block, frozen=True, kw_only=True):
    """The listener for Prometheus, apart from the service's own."""

    enabled: bool = False
    """Whether there is such a listener."""

    host: str = "127.0.0.1"
    """Address to listen on."""

    port: Port | None = None
    """Required when enabled; neither 0 nor the service's own."""


# --- the event log ---------------------------------------------------------------------------------------


class InMemory(_Block, frozen=True, kw_only=True):
    """The log inside the process: for trying out, for tests, for a single instance."""

    max_history_per_topic: Count = 1
    """Messages kept per topic: see `history_per_topic`."""

    max_topics: Count = 10_000
    """Topics kept at a time; a new one evicts the one that was silent for longest."""

    enable_metrics: bool = False
    """More detail in the log, nothing else."""

    @property
    def history_per_topic(self) -> int:
        """Messages that are really kept: a configured 0 acts as 1."""
        return max(1, self.max_history_per_topic)


class JetStream(_Block, frozen=True, kw_only=True):
    """The durable log on NATS JetStream: the connection, and what streams are like by default."""

    nats_url: str = "nats://localhost:4222"
    """Where the broker is; several addresses of one cluster are separated by commas."""

    token: Secret | None = None
    """What the broker lets us in by. When it is absent, the loader takes the environment's `NATS_TOKEN`."""

    user: str | None = None
    """The broker's user, with a password. An addition of ours, as are the six that follow."""

    password: Secret | None = None
    """The password of that user."""

    credentials_file: str | None = None
    """A file with a user's token and key, as the broker's own tools write it."""

    nkey_seed_file: str | None = None
    """A file with the seed of an nkey."""

    tls_ca_file: str | None = None
    """The authority that signed the broker's certificate, where the system does not know it."""

    tls_certificate_file: str | None = None
    """Our own certificate, where the broker asks for one."""

    tls_key_file: str | None = None
    """The key of that certificate."""

    timeout_seconds: Count = 30
    """Patience of one connection attempt at startup."""

    retry_attempts: Count = 3
    """Connection attempts at startup, `reconnect_delay_ms` apart."""

    max_reconnect_attempts: Count | None = None
    """How often a lost connection is tried again, and how often setting up a live subscription is."""

    reconnect_delay_ms: Count = 2000
    """Pause between attempts to connect."""

    publish_retry_attempts: Count = 5
    """Attempts to publish over a channel that was closed."""

    publish_retry_base_delay_ms: Count = 150
    """First pause between attempts to publish; it doubles."""

    max_messages: Limit | None = None
    """Messages that a stream keeps; absent, 0 and -1 are no limit."""

    max_bytes: Limit | None = None
    """Bytes that a stream keeps; absent, 0 and -1 are no limit."""

    retention_time: str | None = None
    """How long a stream keeps a message: a duration such as `7d`."""

    replicas: Count | None = None
    """Copies of a stream in a cluster of brokers."""

    storage_type: Literal["file", "memory"] = "file"
    """Where a stream is kept; a stream that exists cannot change it."""

    retention_policy: Literal["limits", "interest", "workqueue"] = "limits"
    """`workqueue` is a word of the broker that is understood in order to be refused."""

    discard_policy: Literal["old", "new"] = "old"
    """What a full stream lets go of: its oldest message, or the new one."""

    @property
    def reconnect_attempts(self) -> int | None:
        """Attempts before a lost connection is given up for good; None is never."""
        return self.max_reconnect_attempts or None

    @property
    def subscribe_attempts(self) -> int:
        """Attempts to set up a live subscription before its request fails."""
        if self.max_reconnect_attempts is None:
            return 5
        return max(1, self.max_reconnect_attempts)


class NotificationBackend(_Block, frozen=True, kw_only=True):
    """Where events are kept. Only the block of the chosen kind is looked at."""

    kind: str
    """`in_memory` or `jetstream`. Plain text, because the refusal of another kind is worded by the contract."""

    in_memory: InMemory = InMemory()
    """The log inside the process."""

    jetstream: JetStream = JetStream()
    """The log on NATS."""


# --- the registry of schemas -----------------------------------------------------------------------------


class Registry(_Block, frozen=True, kw_only=True):
    """Where event types come from, and whether they are followed as they change. An addition of ours."""

    kind: Literal["memory", "folder", "jetstream"] = "memory"
    """`memory` holds what `notification_schema` declares, and nothing changes it; `folder` adds the manifests of a
    folder and follows them; `jetstream` follows what the operator has published at the broker of the log."""

    folder: str | None = None
    """The folder of `EventSchema` manifests; required for that kind."""


# --- watching and replaying ------------------------------------------------------------------------------


class WatchEndpoint(_Block, frozen=True, kw_only=True):
    """How streams to subscribers behave. Each key has its own default, so a block may hold only some."""

    sse_heartbeat_interval_sec: Count = 30
    """Seconds between heartbeats."""

    connection_max_duration_sec: Count = 3600
    """Seconds after which a live stream is closed, so that clients authenticate anew."""

    replay_batch_size: Count = 100
    """Told to readers of history as `batch_size`; the log itself is read in pieces of some size in bytes."""

    max_historical_notifications: Count = 10_000
    """Events that one request may replay, unless the schema says otherwise."""

    replay_batch_delay_ms: Count = 0
    """Pause between two batches, where the log is to be spared; 0 is none."""

    concurrent_notification_processing: Count = 15
    """Accepted and checked, and of no effect."""


class Streams(_Block, frozen=True, kw_only=True):
    """Limits of streams to subscribers. An addition of ours."""

    max_waiting_bytes: Count = 1_048_576
    """Bytes that may wait for a slow reader of a live stream; beyond that the stream ends."""

    send_buffer_bytes: Count = 131_072
    """Bytes that the kernel may hold for one reader, beside those."""

    stalled_seconds: Count = 60
    """Seconds in which a reader of history has to take something."""

    max_streams: Count = 20_000
    """Open streams of one process; further ones are told to come again."""

    max_streams_per_user: Count = 0
    """Open streams of one user in one process; 0 is no bound."""

    max_streams_per_address: Count = 0
    """Open streams from one address in one process; 0 is no bound."""

    trusted_proxy_hops: Count = 0
    """How many proxies in front are ours: that many entries of `X-Forwarded-For`, from the right, are believed
    when the address is counted. 0 counts the address of the connection."""

    lifetime_jitter_percent: Count = 10
    """By how much at most a stream ends before `connection_max_duration_sec`, so that not all end at once."""

    drain_seconds: Count = 5
    """Seconds over which open streams end when the process is told to stop."""


class LiveSets(_Block, frozen=True, kw_only=True):
    """Limits of live sets and aggregates. An addition of ours."""

    max_queue_bytes: Count = 65_536
    """Bytes that may wait for a slow reader."""

    on_backpressure: Literal["invalidate", "disconnect", "drop"] = "invalidate"
    """What happens beyond that, for subscribers who do not choose."""

    heartbeat_seconds: Count = 20
    """Seconds between heartbeats."""

    scope_recheck_seconds: Count = 30
    """How often permissions are resolved anew; 0 never."""

    scope_grace_periods: Count = 3
    """How many periods in a row resolving may fail before the stream ends."""

    aggregate_debounce_ms: Count = 150
    """How long a burst is gathered before an aggregate is sent."""

    max_subscriptions_per_user: Count = 50
    """Open live sets and aggregates of one user."""

    max_subscriptions_per_address: Count = 100
    """Open live sets and aggregates from one address."""

    max_subscriptions: Count = 10_000
    """Open live sets and aggregates of one gateway."""

    trusted_proxy_hops: Count = 0
    """How many proxies in front are ours: that many entries of `X-Forwarded-For`, from the right, are believed
    when the subscriber's address is counted. 0 counts the address of the connection."""


# --- taking notifications in -----------------------------------------------------------------------------


class Ingest(_Block, frozen=True, kw_only=True):
    """Limits of the batch endpoint. An addition of ours."""

    batch_max_records: Count = 10_000
    """Notifications of one request."""

    batch_max_bytes: Count = 8 * 1024 * 1024
    """Bytes of one request, after decompression."""

    max_bytes_in_flight: Count = 64 * 1024 * 1024
    """Bytes of all requests that are not answered yet; more wait in their connections."""

    max_waiting_seconds: Count = 30
    """How long a request may wait for room before it is told to come again."""


# --- all of it -------------------------------------------------------------------------------------------


class Settings(_Block, frozen=True, kw_only=True):
    """The configuration of a process."""

    application: Application
    """Where the service listens."""

    notification_backend: NotificationBackend
    """Where events are kept."""

    logging: Logging = Logging()
    """What is logged."""

    tracing: Tracing = Tracing()
    """Which requests are traced."""

    auth: Auth = Auth()
    """Who callers are."""

    metrics: Metrics = Metrics()
    """The listener for Prometheus."""

    registry: Registry = Registry()
    """Where event types come from."""

    watch_endpoint: WatchEndpoint = WatchEndpoint()
    """How streams behave."""

    streams: Streams = Streams()
    """How many streams there may be, and what slow readers may cost."""

    notification_schema: Mapping[str, object] | None = None
    """Event type to schema, unread. None when the block is absent."""

    notification_schema_strict: bool | None = None
    """Whether event types without a schema are refused; None: where there is any, or the operator declares them."""

    ecpds: Ecpds | None = None
    """The ECPDS plugin; None when the block is absent."""

    ingest: Ingest = Ingest()
    """Limits of the batch endpoint."""

    live_sets: LiveSets = LiveSets()
    """Limits of live sets."""
