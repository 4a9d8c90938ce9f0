"""A whole configuration, as an existing server has it → the catalog that is served, or every reason not to start."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from aviso_core.errors import SettingsError, UnknownEventType
from aviso_core.plain.secret import Secret
from aviso_core.schema.model import Auth, Schema, Storage, Topic
from aviso_core.settings.model import Application, NotificationBackend, Settings
from aviso_core.settings.model import Auth as AuthSettings
from aviso_core.settings.stream_refusals import AuthFacts, FieldFacts, StreamFacts
from aviso_core.startup import configured_catalog, stream_facts

NOTHING_DECLARED = Settings(
    application=Application(host="127.0.0.1", port=8000),
    notification_backend=NotificationBackend(kind="in_memory"),
)
BUOYS: dict[str, Any] = {
    "topic": {"base": "buoys", "key_order": ["net"]},
    "identifier": {
        "net": {"type": "StringHandler", "required": True},
        "polygon": {"type": "PolygonHandler", "required": False},
    },
}


def _settings(**event_types: dict[str, Any]) -> Settings:
    return replace(NOTHING_DECLARED, notification_schema=event_types)


def _reasons(settings: Settings) -> list[tuple[str, str]]:
    with pytest.raises(SettingsError) as caught:
        configured_catalog(settings)
    return [(fault.path, fault.message) for fault in caught.value.faults]


def test_what_is_declared_is_served_and_nothing_else() -> None:
    catalog = configured_catalog(_settings(buoys=BUOYS))
    assert list(catalog.event_types) == ["buoys"]
    with pytest.raises(UnknownEventType):
        catalog.get("ships")


@pytest.mark.parametrize(
    ("declared", "strict", "refuses_others", "is_configured"),
    [
        (None, None, False, False),
        ({}, None, False, True),
        ({"buoys": BUOYS}, None, True, True),
        ({"buoys": BUOYS}, False, False, True),
        (None, True, True, False),
    ],
)
def test_undeclared_event_types_are_refused_as_the_configuration_says(
    declared: dict[str, Any] | None, strict: bool | None, refuses_others: bool, is_configured: bool
) -> None:
    """Section 14: strict where something is declared, unless the configuration says otherwise."""
    settings = replace(NOTHING_DECLARED, notification_schema=declared, notification_schema_strict=strict)
    catalog = configured_catalog(settings)
    assert (catalog.strict, catalog.is_configured) == (refuses_others, is_configured)


def test_faults_of_reading_of_schemas_and_between_them_are_told_together() -> None:
    reasons = _reasons(
        _settings(
            bad={"identifier": {"f": {"type": "NoHandler", "required": True}}},
            empty=BUOYS | {"topic": {"base": "x y", "key_order": []}},
            one=BUOYS,
            two=BUOYS | {"topic": {"base": "BUOYS", "key_order": ["net"]}},
        )
    )
    assert [message for _, message in reasons] == [
        "'NoHandler' is no handler",
        "Schema 'empty' has invalid topic base: topic base must match [A-Za-z0-9][A-Za-z0-9_-]*",
        "Schema 'empty' topic.key_order must not be empty",
        "Schemas 'one' and 'two' both define topic base 'BUOYS'",
    ]


@pytest.mark.parametrize(
    ("block", "path"),
    [
        ({"auth": {"required": True}}, "notification_schema.buoys.auth.required"),
        ({"storage_policy": {"retention_time": "7d"}}, "notification_schema.buoys.storage_policy"),
    ],
)
def test_what_settings_and_event_types_make_wrong_together_is_found(block: dict[str, Any], path: str) -> None:
    """Authentication is off and the log is in memory."""
    assert path in [where for where, _ in _reasons(_settings(buoys=BUOYS | block))]


def test_an_empty_storage_block_asks_for_nothing() -> None:
    assert configured_catalog(_settings(buoys=BUOYS | {"storage_policy": {}})).event_types


def test_the_facts_of_a_stream_are_those_of_its_schema() -> None:
    (event_type,) = configured_catalog(_settings(buoys=BUOYS)).event_types.values()
    schema = replace(
        event_type.schema,
        auth=Auth(
            required=True, read_roles={"main": ("a",)}, write_roles={"main": ("b",)}, plugins=("ecpds",)
        ),
        storage=Storage(max_messages=1),
    )
    assert stream_facts(schema) == StreamFacts(
        event_type="buoys",
        has_topic=True,
        key_order=("net",),
        fields={
            "net": FieldFacts(kind="String", required=True),
            "polygon": FieldFacts(kind="Polygon", required=False),
        },
        auth=AuthFacts(
            required=True, read_roles={"main": ("a",)}, write_roles={"main": ("b",)}, plugins=("ecpds",)
        ),
        has_storage_policy=True,
    )
    assert stream_facts(Schema(event_type="free")) == StreamFacts(event_type="free")
    assert stream_facts(Schema(event_type="t", topic=Topic(base="t", key_order=("a",)))).has_topic


def test_a_required_stream_starts_where_authentication_is_on() -> None:
    settings = replace(
        _settings(buoys=BUOYS | {"auth": {"required": True, "read_roles": {"main": ["reader"]}}}),
        auth=AuthSettings(
            enabled=True,
            mode="trusted_proxy",
            jwt_secret=Secret("shared"),
            admin_roles={"main": ("operator",)},
        ),
    )
    (event_type,) = configured_catalog(settings).event_types.values()
    assert event_type.schema.auth == Auth(required=True, read_roles={"main": ("reader",)})
