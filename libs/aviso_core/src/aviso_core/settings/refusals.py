"""What a process refuses to start with, as far as the settings alone decide it.

Each function looks at one block and yields all of its faults. They hold the rules about values that types cannot say,
most of which depend on something being switched on: a block that is not in use may be unfinished. Texts that the
contract words are kept to the letter. `startup` puts these rules in one order with those about event types.

No message shows an address or a secret: credentials may stand in the one and are the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aviso_core.errors import Fault
from aviso_core.plain.decode import below
from aviso_core.settings.url import parse_url
from aviso_core.units import parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    import msgspec

    from aviso_core.settings.model import (
        Application,
        Auth,
        Cors,
        Ecpds,
        Homepage,
        JetStream,
        Kubernetes,
        Logging,
        NotificationBackend,
        Roles,
        Settings,
        Streams,
        Tracing,
    )


# --- application -----------------------------------------------------------------------------------------


def application_faults(application: Application) -> Iterator[Fault]:
    """Yield what is wrong with the links of the home page, the own addresses and the allowed origins."""
    yield from _homepage_faults(application.homepage)
    # An empty host would listen on every interface, which nobody asks for by leaving a variable empty.
    yield from _text_faults("application.host", application.host)
    if parse_url(application.base_url) is None:
        yield Fault(
            path="application.base_url",
            message="is not an absolute URL, so no event could be rendered",
            remedy="write one such as http://localhost:8000",
        )
    yield from _cors_faults(application.cors)


def reuse_port_faults(settings: Settings) -> Iterator[Fault]:
    """Yield why several processes on one port would not be one service."""
    if not settings.application.reuse_port:
        return
    path = "application.reuse_port"
    if settings.application.port == 0:
        yield Fault(
            path=path,
            message="needs a port: with application.port 0 each process takes one of its own",
            remedy="choose a port such as 8000",
        )
    if settings.notification_backend.kind == "in_memory":
        yield Fault(
            path=path,
            message="needs a log that the processes share: each would have a history of its own in memory",
            remedy="set notification_backend.kind to jetstream",
        )


def _homepage_faults(homepage: Homepage) -> Iterator[Fault]:
    for key in homepage.__struct_fields__:
        url = parse_url(getattr(homepage, key))
        if url is None or not url.is_web or url.has_credentials:
            path = f"application.homepage.{key}"
            message = f"{path} must be an absolute HTTP(S) URL with a host and no embedded credentials"
            yield Fault(path=path, message=message, remedy="write one such as https://docs.example/")


def _cors_faults(cors: Cors) -> Iterator[Fault]:
    path = "application.cors.allowed_origins"
    for index, origin in enumerate(cors.allowed_origins):
        if origin != "*" and not _is_origin(origin):
            remedy = "write scheme, host and port only, such as https://portal.example, or *"
            yield Fault(path=f"{path}[{index}]", message="is not an origin", remedy=remedy)
    if cors.allow_credentials and "*" in cors.allowed_origins:
        # Browsers refuse the pair, and a server that answers with the caller's origin instead opens every door.
        yield Fault(
            path="application.cors.allow_credentials",
            message="cannot be true while every origin is allowed",
            remedy="name the origins, or leave credentials out",
        )


def _is_origin(text: str) -> bool:
    url = parse_url(text)
    if url is None or not url.is_web or url.has_credentials:
        return False
    return not (url.path or url.has_query or url.has_fragment)


# --- the event log ---------------------------------------------------------------------------------------


def backend_faults(backend: NotificationBackend) -> Iterator[Fault]:
    """Yield what is wrong with the chosen kind of event log."""
    match backend.kind:
        case "in_memory":
            yield from _zeroes("notification_backend.in_memory", backend.in_memory, "max_topics")
        case "jetstream":
            yield from _jetstream_faults(backend.jetstream)
        case unknown:
            yield Fault(
                path="notification_backend.kind",
                message=f"Unknown notification_backend kind: {unknown}",
                remedy="write in_memory or jetstream",
            )


def _jetstream_faults(jetstream: JetStream) -> Iterator[Fault]:
    path = "notification_backend.jetstream"
    yield from _text_faults(f"{path}.nats_url", jetstream.nats_url)
    yield from _zeroes(path, jetstream, "timeout_seconds", "retry_attempts", "reconnect_delay_ms")
    yield from _zeroes(path, jetstream, "publish_retry_attempts", "publish_retry_base_delay_ms")
    if jetstream.retention_time is not None:
        yield from _duration_faults(f"{path}.retention_time", jetstream.retention_time)
    if jetstream.retention_policy == "workqueue":
        yield Fault(
            path=f"{path}.retention_policy",
            message="workqueue is refused: an event would be gone once its first reader has it",
            remedy="write limits or interest",
        )


def _duration_faults(path: str, text: str) -> Iterator[Fault]:
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        # Not `UnitError` alone: Python has a limit of its own on the digits of a number.
        yield Fault(path=path, message=str(error), remedy="correct it, or remove the key for no limit")
    else:
        if seconds == 0:
            yield Fault(
                path=path, message="must be longer than nothing", remedy="write a duration such as 7d"
            )


# --- who may do what -------------------------------------------------------------------------------------


def auth_faults(auth: Auth) -> Iterator[Fault]:
    """Yield what is missing for recognising callers, if they are to be recognised at all."""
    if not auth.enabled:
        return
    yield from _zeroes("auth", auth, "timeout_ms")
    if not auth.admin_roles:
        yield Fault(
            path="auth.admin_roles",
            message="must name at least one realm while auth is enabled",
            remedy="write a realm and its roles, such as {main: [admin]}",
        )
    yield from role_map_faults("auth.admin_roles", auth.admin_roles)
    if auth.mode == "direct":
        yield from _auth_service_faults(auth.auth_o_tron_url)
    if auth.jwt_secret or auth.mode == "direct" or not (auth.issuers or auth.kubernetes.enabled):
        yield from _text_faults("auth.jwt_secret", auth.jwt_secret.reveal())
    yield from _issuers_faults(auth)
    if auth.kubernetes.enabled:
        yield from _kubernetes_faults(auth.kubernetes)


def _auth_service_faults(address: str) -> Iterator[Fault]:
    path = "auth.auth_o_tron_url"
    yield from _text_faults(path, address)
    url = parse_url(address)
    if url is not None and url.has_credentials:
        # They would be sent in the place of the caller's own, and everybody would be that one user.
        yield Fault(path=path, message="carries credentials", remedy="write the address without them")


def _issuers_faults(auth: Auth) -> Iterator[Fault]:
    """Yield whose tokens could not be checked, or would say more than the issuer may."""
    if auth.issuers or auth.kubernetes.enabled:
        yield from _zeroes("auth", auth, "jwks_refresh_seconds")
    known: set[str] = {auth.kubernetes.issuer} if auth.kubernetes.enabled else set()
    for index, issuer in enumerate(auth.issuers):
        path = f"auth.issuers[{index}]"
        for key in ("issuer", "audience", "roles_claim", "username_claim"):
            yield from _text_faults(f"{path}.{key}", getattr(issuer, key))
        if issuer.issuer in known:
            yield Fault(path=f"{path}.issuer", message="is configured twice", remedy="name each issuer once")
        known.add(issuer.issuer)
        yield from _one_of_faults(path, issuer, "realm", "realm_claim")
        yield from _one_of_faults(path, issuer, "jwks_url", "jwks_file")
        yield from _jwks_url_faults(f"{path}.jwks_url", issuer.jwks_url)


def _kubernetes_faults(kubernetes: Kubernetes) -> Iterator[Fault]:
    path = "auth.kubernetes"
    for key in ("audience", "realm"):
        yield from _text_faults(f"{path}.{key}", getattr(kubernetes, key))
    fetched = bool(kubernetes.jwks_url or kubernetes.jwks_file)
    if kubernetes.issuer or fetched:
        # A key set does not say whose it is; only the registry publishes both.
        yield from _text_faults(f"{path}.issuer", kubernetes.issuer)
    if fetched:
        yield from _one_of_faults(path, kubernetes, "jwks_url", "jwks_file")
        yield from _jwks_url_faults(f"{path}.jwks_url", kubernetes.jwks_url)
    if kubernetes.review.bearer_file:
        yield from _text_faults(f"{path}.review.bearer_file", kubernetes.review.bearer_file)
        yield from _text_faults(f"{path}.review.url", kubernetes.review.url)
        yield from _jwks_url_faults(f"{path}.review.url", kubernetes.review.url)


def _one_of_faults(path: str, block: msgspec.Struct, first: str, second: str) -> Iterator[Fault]:
    """Yield a fault unless exactly one of two keys has a value, and what is wrong with that value."""
    values = [(key, getattr(block, key)) for key in (first, second) if getattr(block, key)]
    if len(values) != 1:
        problem = "are both set" if values else "are both missing"
        yield Fault(
            path=f"{path}.{first}",
            message=f"{first} and {second} {problem}",
            remedy=f"write either {first} or {second}",
        )
    for key, value in values:
        yield from _text_faults(f"{path}.{key}", value)


def _jwks_url_faults(path: str, address: str) -> Iterator[Fault]:
    """Yield why what comes from an address could be anybody's."""
    if not address:
        return
    url = parse_url(address)
    if url is None or not url.is_web:
        remedy = "write one such as https://id.example/keys"
        yield Fault(path=path, message="is not an absolute URL", remedy=remedy)
    elif url.has_credentials:
        yield Fault(path=path, message="carries credentials", remedy="write the address without them")
    elif url.scheme != "https" and not url.is_loopback:
        yield Fault(path=path, message="would be asked without encryption", remedy="write https")


def role_map_faults(path: str, roles: Roles) -> Iterator[Fault]:
    """Yield the realms and roles that can never be anybody's."""
    for realm, names in roles.items():
        place = below(path, realm)
        yield from _text_faults(place, realm, what="the name of the realm ")
        if not names:
            yield Fault(
                path=place, message="has no roles", remedy="list roles, or * for all, or remove the realm"
            )
        for index, name in enumerate(names):
            yield from _text_faults(f"{place}[{index}]", name)


def ecpds_faults(ecpds: Ecpds) -> Iterator[Fault]:
    """Yield what is wrong with the plugin's block. It matters only once a stream names the plugin."""
    yield from _text_faults("ecpds.username", ecpds.username)
    yield from _text_faults("ecpds.password", ecpds.password.reveal())
    yield from _text_faults("ecpds.target_field", ecpds.target_field)
    yield from _zeroes("ecpds", ecpds, "cache_ttl_seconds", "max_entries")
    yield from _zeroes("ecpds", ecpds, "request_timeout_seconds", "connect_timeout_seconds")
    if not ecpds.servers:
        yield Fault(path="ecpds.servers", message="names no server", remedy="list at least one https address")
    for index, server in enumerate(ecpds.servers):
        yield from _server_faults(f"ecpds.servers[{index}]", server)
    yield from _match_key_faults(ecpds.match_key)


def _server_faults(path: str, server: str) -> Iterator[Fault]:
    url = parse_url(server)
    if url is None or not url.is_web:
        yield Fault(
            path=path, message="is not an absolute URL", remedy="write one such as https://ecpds.example"
        )
        return
    if url.scheme != "https" and not url.is_loopback:
        # Every request carries the service's password.
        yield Fault(path=path, message="would be asked without encryption", remedy="write https")
    if url.has_query or url.has_fragment:
        yield Fault(path=path, message="has a query or a fragment", remedy="end the address before ? and #")


def _match_key_faults(match_key: str) -> Iterator[Fault]:
    path = "ecpds.match_key"
    if not match_key:
        yield Fault(
            path=path, message="is empty", remedy="name the identifier field that holds the destination"
        )
    elif "/" in match_key or any(character.isspace() for character in match_key):
        remedy = "write the name of an identifier field"
        yield Fault(path=path, message="has whitespace or a slash in it", remedy=remedy)


# --- metrics, logging, limits ----------------------------------------------------------------------------


def metrics_faults(settings: Settings) -> Iterator[Fault]:
    """Yield why the metrics could not be read on a known port of their own."""
    if not settings.metrics.enabled:
        return
    port = settings.metrics.port
    if port is None:
        problem = "is required while metrics are enabled"
    elif port == 0:
        problem = "must not be 0: nobody could know where to read the metrics"
    elif port == settings.application.port:
        problem = "must not be application.port: the metrics have a listener of their own"
    else:
        return
    yield Fault(path="metrics.port", message=problem, remedy="choose a port such as 9000")


def logging_faults(logging: Logging) -> Iterator[Fault]:
    """Yield why log records could not be exported."""
    otlp = logging.otlp
    if otlp.enabled and not (otlp.endpoint or "").strip():
        yield Fault(
            path="logging.otlp.endpoint",
            message="logging.otlp.enabled=true requires logging.otlp.endpoint",
            remedy="write the collector's address, such as http://localhost:4317",
        )


def tracing_faults(tracing: Tracing) -> Iterator[Fault]:
    """Yield why spans could not be sampled or exported. No address at all is fine: then they stay here."""
    if not tracing.enabled:
        return
    if tracing.endpoint is not None and not tracing.endpoint.strip():
        remedy = "write the collector's address, such as http://localhost:4317, or remove the key"
        yield Fault(path="tracing.endpoint", message="is empty", remedy=remedy)
    if not 0 <= tracing.sample_ratio <= 1:
        remedy = "write a share such as 0.1"
        yield Fault(path="tracing.sample_ratio", message="must be from 0 to 1", remedy=remedy)


def limit_faults(settings: Settings) -> Iterator[Fault]:
    """Yield the limits of serving that are zero and would let nothing through, or never end."""
    watch = settings.watch_endpoint
    yield from _zeroes("watch_endpoint", watch, "sse_heartbeat_interval_sec", "connection_max_duration_sec")
    yield from _zeroes("watch_endpoint", watch, "replay_batch_size", "max_historical_notifications")
    yield from _stream_limit_faults(settings.streams)
    yield from _zeroes(
        "ingest", settings.ingest, "batch_max_records", "batch_max_bytes", "max_bytes_in_flight"
    )
    live_sets = settings.live_sets
    yield from _zeroes("live_sets", live_sets, "max_queue_bytes", "heartbeat_seconds")
    yield from _zeroes("live_sets", live_sets, "max_subscriptions_per_user", "max_subscriptions_per_address")
    yield from _zeroes("live_sets", live_sets, "max_subscriptions")


def _stream_limit_faults(streams: Streams) -> Iterator[Fault]:
    yield from _zeroes("streams", streams, "max_waiting_bytes", "send_buffer_bytes")
    yield from _zeroes("streams", streams, "stalled_seconds", "max_streams")
    if streams.lifetime_jitter_percent > 100:
        # Some streams would be over before they begin.
        yield Fault(
            path="streams.lifetime_jitter_percent",
            message="must be from 0 to 100",
            remedy="write a share such as 10, or 0 for none",
        )


# --- the registry of schemas -----------------------------------------------------------------------------


def registry_faults(settings: Settings) -> Iterator[Fault]:
    """Yield why event types cannot be had from where they are said to come from."""
    kind, folder = settings.registry.kind, settings.registry.folder
    if kind == "folder" and folder is None:
        yield Fault(
            path="registry.folder",
            message="is required while registry.kind is folder",
            remedy="name the folder of manifests",
        )
    elif kind == "folder" and folder is not None:
        yield from _text_faults("registry.folder", folder)
    elif folder is not None:
        # Whoever names a folder and leaves the kind out would wait for its event types in vain.
        yield Fault(
            path="registry.folder",
            message=f"is not looked at while registry.kind is {kind}",
            remedy="set registry.kind to folder, or remove the key",
        )
    if kind == "jetstream":
        yield from _jetstream_registry_faults(settings)


def _jetstream_registry_faults(settings: Settings) -> Iterator[Fault]:
    if settings.notification_backend.kind != "jetstream":
        yield Fault(
            path="registry.kind",
            message="jetstream is at the broker of the log, and the log has none",
            remedy="set notification_backend.kind to jetstream",
        )
    if settings.notification_schema:
        yield Fault(
            path="notification_schema",
            message="declares event types, and while registry.kind is jetstream only the operator does",
            remedy="remove it, or set registry.kind to memory",
        )


# --- what several blocks ask ------------------------------------------------------------------------------


def _zeroes(path: str, block: msgspec.Struct, *keys: str) -> Iterator[Fault]:
    for key in keys:
        if getattr(block, key) == 0:
            yield Fault(
                path=f"{path}.{key}", message="must be greater than zero", remedy="write a number from 1 on"
            )


def _text_faults(path: str, text: str, what: str = "") -> Iterator[Fault]:
    """Yield a fault if the text is empty or has blanks around it, which somebody would compare and not see."""
    if not text.strip():
        yield Fault(path=path, message=f"{what}is empty", remedy="write a value")
    elif text != text.strip():
        yield Fault(path=path, message=f"{what}begins or ends with whitespace", remedy="remove it")
