"""From settings to how the broker is reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aviso_core.broker.connection import ConnectionOptions

if TYPE_CHECKING:
    from aviso_core.settings.model import JetStream


def connection_options(jetstream: JetStream) -> ConnectionOptions:
    """Return how the broker is reached."""
    return ConnectionOptions(
        servers=tuple(server.strip() for server in jetstream.nats_url.split(",")),
        token=jetstream.token,
        user=jetstream.user,
        password=jetstream.password,
        credentials_file=jetstream.credentials_file,
        nkey_seed_file=jetstream.nkey_seed_file,
        tls_ca_file=jetstream.tls_ca_file,
        tls_certificate_file=jetstream.tls_certificate_file,
        tls_key_file=jetstream.tls_key_file,
        connect_seconds=jetstream.timeout_seconds,
        connect_attempts=jetstream.retry_attempts,
        reconnect_delay_seconds=jetstream.reconnect_delay_ms / 1000,
        reconnect_attempts=jetstream.reconnect_attempts,
    )
