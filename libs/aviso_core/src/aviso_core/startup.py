"""From a configuration to the event types that it serves, or every reason why the process must not start.

Three places know the rules: `settings.refusals` those of the settings, `settings.stream_refusals` those that ask
about settings and event types together, and `schema` those of schemas alone. Here they become one list, in the order
that the contract gives the groups and with what it does not place at the end, so that one start shows them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aviso_core.errors import SettingsError
from aviso_core.schema.catalog import build_catalog
from aviso_core.schema.check import check_schema, check_together
from aviso_core.schema.configuration import read_notification_schema
from aviso_core.schema.model import Schema, Storage
from aviso_core.settings import refusals, stream_refusals
from aviso_core.settings.stream_refusals import AuthFacts, FieldFacts, StreamFacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from aviso_core.errors import Fault
    from aviso_core.schema.catalog import Catalog
    from aviso_core.settings.model import Settings


def configured_catalog(settings: Settings) -> Catalog:
    """Return the event types that the configuration declares, or raise everything that is wrong with it."""
    schemas, faults = read_notification_schema(settings.notification_schema or {})
    faults += [fault for schema in schemas for fault in check_schema(schema)] + check_together(schemas)
    reasons = startup_faults(settings, streams=list(map(stream_facts, schemas)), schema_faults=faults)
    if reasons:
        raise SettingsError(reasons)
    return build_catalog(
        None if settings.notification_schema is None else schemas, strict=settings.notification_schema_strict
    )


def startup_faults(
    settings: Settings, *, streams: Sequence[StreamFacts], schema_faults: Iterable[Fault]
) -> list[Fault]:
    """Return why the process must not start; it may when there is no reason."""
    return [
        *refusals.application_faults(settings.application),
        *refusals.backend_faults(settings.notification_backend),
        *stream_refusals.storage_faults(settings.notification_backend, streams),
        *schema_faults,
        *refusals.auth_faults(settings.auth),
        *stream_refusals.plugin_faults(streams),
        *stream_refusals.stream_auth_faults(settings.auth, streams),
        *refusals.metrics_faults(settings),
        *stream_refusals.stream_ecpds_faults(settings.ecpds, streams),
        *refusals.logging_faults(settings.logging),
        *refusals.tracing_faults(settings.tracing),
        *refusals.limit_faults(settings),
        *refusals.registry_faults(settings),
        *refusals.reuse_port_faults(settings),
    ]


def stream_facts(schema: Schema) -> StreamFacts:
    """Return what the rules about settings and event types ask of a schema."""
    auth = schema.auth
    return StreamFacts(
        event_type=schema.event_type,
        has_topic=schema.topic is not None,
        key_order=schema.topic.key_order if schema.topic else (),
        fields={field.name: FieldFacts(kind=field.kind, required=field.required) for field in schema.fields},
        auth=None
        if auth is None
        else AuthFacts(
            required=auth.required,
            read_roles=auth.read_roles,
            write_roles=auth.write_roles,
            plugins=auth.plugins,
        ),
        has_storage_policy=schema.storage is not None and schema.storage != Storage(),
    )
