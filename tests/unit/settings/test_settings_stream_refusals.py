"""What a process refuses to start with because settings and event types do not go together."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from aviso_core.plain.secret import Secret
from aviso_core.settings.model import (
    Application,
    Auth,
    Ecpds,
    NotificationBackend,
    Settings,
)
from aviso_core.settings.stream_refusals import AuthFacts, FieldFacts, StreamFacts
from aviso_core.startup import startup_faults

OPEN = Settings(
    application=Application(host="127.0.0.1", port=8000),
    notification_backend=NotificationBackend(kind="in_memory"),
)
GUARDED = replace(
    OPEN,
    auth=Auth(
        enabled=True,
        mode="trusted_proxy",
        jwt_secret=Secret("x"),
        admin_roles={"main": ("operator",)},
    ),
    ecpds=Ecpds(username="service", password=Secret("x"), servers=("https://one",), match_key="destination"),
)
ROLES = {"main": ("reader",)}
TEXT = FieldFacts(kind="String", required=True)
MARS = StreamFacts(
    event_type="mars", has_topic=True, key_order=("destination", "step"), fields={"destination": TEXT}
)
GUARDED_MARS = replace(MARS, auth=AuthFacts(required=True, plugins=("ecpds",)))


def _told(settings: Settings, *streams: StreamFacts) -> list[tuple[str, str]]:
    faults = startup_faults(settings, streams=streams, schema_faults=[])
    assert all(fault.remedy for fault in faults)
    return [(fault.path, fault.message) for fault in faults]


def _auth(**facts: Any) -> StreamFacts:
    return replace(MARS, auth=AuthFacts(**facts))


def test_without_streams_nothing_is_wrong() -> None:
    assert _told(OPEN) == []
    assert _told(replace(GUARDED, ecpds=Ecpds())) == []


def test_a_plain_stream_goes_with_everything() -> None:
    assert _told(OPEN, MARS) == []
    assert _told(GUARDED, MARS, GUARDED_MARS) == []


@pytest.mark.parametrize(
    ("kind", "has_policy", "told"),
    [
        (
            "in_memory",
            True,
            [("notification_schema.mars.storage_policy", "is not supported by the in_memory backend")],
        ),
        ("in_memory", False, []),
        ("jetstream", True, []),
        ("kafka", True, [("notification_backend.kind", "Unknown notification_backend kind: kafka")]),
    ],
)
def test_memory_keeps_no_storage_policy(kind: str, has_policy: bool, told: list[tuple[str, str]]) -> None:
    """Of an unknown kind nothing is told but that it is unknown."""
    settings = replace(OPEN, notification_backend=NotificationBackend(kind=kind))
    assert _told(settings, replace(MARS, has_storage_policy=has_policy)) == told


AT = "notification_schema.mars.auth"


@pytest.mark.parametrize(
    ("stream", "told_when_open", "told_when_guarded"),
    [
        (_auth(required=False), [], []),
        (_auth(required=True), [(f"{AT}.required", "asks for authentication while auth is disabled")], []),
        (
            _auth(required=True, read_roles=ROLES),
            [
                (f"{AT}.required", "asks for authentication while auth is disabled"),
                (AT, "lists roles while auth is disabled"),
            ],
            [],
        ),
        (
            _auth(required=False, write_roles=ROLES),
            [(AT, "lists roles while auth is disabled")],
            [(f"{AT}.required", "must be true where roles are listed")],
        ),
        (
            _auth(required=False, read_roles=ROLES, write_roles=ROLES),
            [(AT, "lists roles while auth is disabled")],
            [(f"{AT}.required", "must be true where roles are listed")],
        ),
        (
            _auth(required=False, read_roles={}),
            [(f"{AT}.read_roles", "is an empty map")],
            [(f"{AT}.read_roles", "is an empty map")],
        ),
        (
            _auth(required=False, write_roles={}),
            [(f"{AT}.write_roles", "is an empty map")],
            [(f"{AT}.write_roles", "is an empty map")],
        ),
        (
            _auth(required=False, plugins=("ecpds",)),
            [(f"{AT}.required", "must be true where plugins are named")],
            [(f"{AT}.required", "must be true where plugins are named")],
        ),
        (
            _auth(required=False, plugins=()),
            [(f"{AT}.plugins", "is empty")],
            [(f"{AT}.plugins", "is empty")],
        ),
    ],
)
def test_access_rules_must_be_enforceable(
    stream: StreamFacts, told_when_open: list[tuple[str, str]], told_when_guarded: list[tuple[str, str]]
) -> None:
    assert _told(replace(OPEN, ecpds=GUARDED.ecpds), stream) == told_when_open
    assert _told(GUARDED, stream) == told_when_guarded


@pytest.mark.parametrize(
    ("roles", "path", "message"),
    [
        ({"main": ()}, "read_roles.main", "has no roles"),
        ({"": ("a",)}, "read_roles.''", "the name of the realm is empty"),
        ({"main": ("a", " ")}, "read_roles.main[1]", "is empty"),
        ({"main": ("a ",)}, "read_roles.main[0]", "begins or ends with whitespace"),
    ],
)
def test_role_maps_have_usable_entries(roles: dict[str, tuple[str, ...]], path: str, message: str) -> None:
    assert _told(GUARDED, _auth(required=True, read_roles=roles)) == [(f"{AT}.{path}", message)]


@pytest.mark.parametrize(
    ("plugins", "told"),
    [
        ((), [(f"{AT}.plugins", "is empty")]),
        (("opa",), [(f"{AT}.plugins[0]", "'opa' is not a plugin of this server")]),
        (("ecpds", "ECPDS"), [(f"{AT}.plugins[1]", "'ECPDS' is not a plugin of this server")]),
        (
            ("a", "b"),
            [
                (f"{AT}.plugins[0]", "'a' is not a plugin of this server"),
                (f"{AT}.plugins[1]", "'b' is not a plugin of this server"),
            ],
        ),
    ],
)
def test_plugins_are_named_and_known(plugins: tuple[str, ...], told: list[tuple[str, str]]) -> None:
    assert _told(GUARDED, _auth(required=True, plugins=plugins)) == told


def test_the_plugin_needs_its_block() -> None:
    other = replace(GUARDED_MARS, event_type="diss")
    assert _told(replace(GUARDED, ecpds=None), GUARDED_MARS, other) == [
        ("ecpds", "is required by the plugins of: mars, diss")
    ]


def test_the_block_is_checked_once_however_many_streams_use_it() -> None:
    ecpds = Ecpds(username="service", password=Secret("x"), match_key="destination")
    told = _told(replace(GUARDED, ecpds=ecpds), GUARDED_MARS, replace(GUARDED_MARS, event_type="diss"))
    assert told == [("ecpds.servers", "names no server")]


FIELD = "notification_schema.mars.identifier.destination"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, []),
        ({"has_topic": False, "key_order": ()}, []),
        (
            {"fields": {"step": TEXT}},
            [
                (
                    "notification_schema.mars.identifier",
                    "has no field 'destination', which ecpds.match_key names",
                )
            ],
        ),
        (
            {"fields": {"destination": FieldFacts(kind="String", required=False)}},
            [(f"{FIELD}.required", "must be true for the field that ecpds.match_key names")],
        ),
        (
            {"key_order": ("step",)},
            [
                (
                    "notification_schema.mars.topic.key_order",
                    "must include 'destination', which ecpds.match_key names",
                )
            ],
        ),
        *(
            (
                {"fields": {"destination": FieldFacts(kind=kind, required=True)}},
                [(FIELD, "is spatial and cannot be the field that ecpds.match_key names")],
            )
            for kind in ("Polygon", "PointCloud")
        ),
        (
            {"key_order": (), "fields": {"destination": FieldFacts(kind="Int", required=False)}},
            [
                (f"{FIELD}.required", "must be true for the field that ecpds.match_key names"),
                (
                    "notification_schema.mars.topic.key_order",
                    "must include 'destination', which ecpds.match_key names",
                ),
            ],
        ),
    ],
)
def test_every_request_must_name_one_destination(
    changes: dict[str, Any], told: list[tuple[str, str]]
) -> None:
    assert _told(GUARDED, replace(GUARDED_MARS, **changes)) == told


@pytest.mark.parametrize("key", ["polygon", "point_cloud"])
def test_a_reserved_spatial_key_is_no_destination(key: str) -> None:
    assert GUARDED.ecpds is not None
    settings = replace(GUARDED, ecpds=replace(GUARDED.ecpds, match_key=key))
    ((path, message),) = _told(settings, replace(GUARDED_MARS, key_order=(key,), fields={key: TEXT}))
    assert path == f"notification_schema.mars.identifier.{key}"
    assert message.startswith("is spatial")


def test_an_unnamed_destination_is_told_once() -> None:
    assert GUARDED.ecpds is not None
    settings = replace(GUARDED, ecpds=replace(GUARDED.ecpds, match_key=""))
    assert _told(settings, GUARDED_MARS) == [("ecpds.match_key", "is empty")]


def test_everything_is_told_at_once_and_by_groups() -> None:
    streams = [
        replace(
            MARS, event_type="one", has_storage_policy=True, auth=AuthFacts(required=True, plugins=("opa",))
        ),
        replace(GUARDED_MARS, event_type="two", has_storage_policy=True),
    ]
    assert [path for path, _ in _told(OPEN, *streams)] == [
        "notification_schema.one.storage_policy",
        "notification_schema.two.storage_policy",
        "notification_schema.one.auth.plugins[0]",
        "notification_schema.one.auth.required",
        "notification_schema.two.auth.required",
        "ecpds",
    ]
