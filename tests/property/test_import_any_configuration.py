"""What a configuration means, its manifests mean as well, but for what the import says that it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from aviso_all_in_one.importing.configuration import import_configuration
from aviso_core.fields import SpatialField
from aviso_core.plain.yaml_mapping import read_mapping
from aviso_core.plain.yaml_text import yaml_text
from aviso_core.schema.check import check_schema, check_together
from aviso_core.schema.configuration import read_notification_schema
from aviso_core.schema.manifest import read_manifest
from aviso_core.schema.model import Auth, PayloadRules, Schema
from aviso_core.schema.stream import StreamDefaults, wanted_stream
from support import observed, recordings, watching

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from aviso_all_in_one.importing.event_type import Imported

# --- what something means --------------------------------------------------------------------------------

_POLICY: Final = {
    "max_age_seconds": "retention_time",
    "duplicate_window_seconds": "retention_time",
    "max_messages": "max_messages",
    "max_bytes": "max_size",
    "max_messages_per_subject": "allow_duplicates",
    "compression": "compression",
}


def meaning(schema: Schema, defaults: StreamDefaults) -> dict[str, object]:
    """Return what a schema means to producers, readers and the broker, by the paths of a configuration."""
    stream = msgspec.structs.asdict(wanted_stream(schema, defaults))
    fields = {
        f"identifier.{place}.{member}": _same(member, value)
        for place, field in enumerate(schema.fields)
        for member, value in [*msgspec.structs.asdict(field).items(), ("type", type(field))]
    }
    return {
        "event_type": schema.event_type,
        "topic.base": schema.base.lower(),
        "topic.key_order": tuple(schema.routed),
        "payload": schema.payload or PayloadRules(),
        "auth": _access(schema.auth),
        "max_historical_notifications": schema.max_historical_notifications,
        "storage_policy.medium": stream["medium"],
        **{f"storage_policy.{path}": stream[name] for name, path in _POLICY.items() if name in stream},
        **fields,
    }


def _same(member: str, value: Any) -> object:
    """Return what a member of an identifier means: a value that is listed twice, and an empty default, mean nothing."""
    match member:
        case "values":
            return tuple(dict.fromkeys(value))
        case "empty_default":
            return value or None
    return value


def _access(auth: Auth | None) -> object:
    """Return who may: where nobody has to be known, everybody."""
    if auth is None or not auth.required:
        return "everybody"
    roles = (auth.read_roles, auth.write_roles)
    as_sets = [None if one is None else {realm: set(names) for realm, names in one.items()} for one in roles]
    return as_sets, set(auth.plugins or ())


def differences(schema: Schema, imported: Imported, defaults: StreamDefaults) -> Iterator[str]:
    """Yield what a manifest means otherwise and the notes do not own to."""
    assert imported.manifest is not None
    text = yaml_text(imported.manifest)
    document, fault = read_mapping(text.encode(), name="manifest.yaml")
    assert fault is None
    assert document == imported.manifest, "what is written is what is read"
    read, faults = read_manifest(document)
    assert read is not None, faults
    assert check_schema(read) == []
    prefix = f"notification_schema.{schema.event_type}"
    changed = {
        note.path.removeprefix(prefix).lstrip(".") for note in imported.notes if note.kind == "changed"
    }
    before, after = meaning(schema, defaults), meaning(read, defaults)
    for path in before.keys() | after.keys():
        if before.get(path) != after.get(path) and not _is_told(path, schema, changed):
            yield f"{path}: {before.get(path)} → {after.get(path)}"


def _is_told(path: str, schema: Schema, changed: set[str]) -> bool:
    parts = path.split(".")
    if path == "event_type" or (path == "topic.base" and schema.topic is None):
        return "" in changed
    if parts[0] == "identifier":
        name = schema.fields[int(parts[1])].name
        return any(one == f"identifier.{name}" or one.startswith(f"identifier.{name}.") for one in changed)
    if path == "topic.key_order":
        # It names identifiers, and so do their new names.
        return bool(changed & {"topic", path}) or any(one.startswith("identifier.") for one in changed)
    return any(path == one or path.startswith(f"{one}.") for one in changed)


def check_import(configuration: Mapping[str, Any]) -> None:
    """Import a configuration, and compare every manifest with what it was made of."""
    schemas, faults = read_notification_schema(configuration["notification_schema"])
    assert faults == []
    imported = import_configuration(configuration, schemas, adopt=True)
    jetstream = (configuration.get("notification_backend") or {}).get("jetstream") or {}
    medium = jetstream.get("storage_type", "file")
    age = {"7d": 604_800, None: None}[jetstream.get("retention_time")]
    defaults = StreamDefaults(medium=medium, max_age_seconds=age)
    read = []
    for schema, one in zip(schemas, imported.event_types, strict=True):
        assert one.event_type == schema.event_type
        if one.manifest is None:
            assert [note.kind for note in one.notes] == ["left out"]
            assert one.notes[0].remedy
            continue
        assert list(differences(schema, one, defaults)) == []
        made, _ = read_manifest(one.manifest)
        assert made is not None
        read.append(made)
    assert check_together(read) == []
    assert len({one.name for one in imported.event_types if one.manifest}) == len(read)


# --- configurations of servers ---------------------------------------------------------------------------

ON_JETSTREAM: Final = {"kind": "jetstream", "jetstream": {"retention_time": "7d"}}


@pytest.mark.parametrize(
    "configuration",
    [
        recordings.OPEN,
        recordings.GUARDED,
        recordings.on_jetstream(recordings.OPEN, "nats://localhost:4222"),
        {"notification_schema": watching.EVENT_TYPES, "notification_backend": ON_JETSTREAM},
        {"notification_schema": observed.EVENT_TYPES},
    ],
)
def test_what_servers_have_been_recorded_with_is_imported_as_it_is(configuration: dict[str, Any]) -> None:
    check_import(configuration)
    schemas, _ = read_notification_schema(configuration["notification_schema"])
    imported = import_configuration(configuration, schemas, adopt=False)
    assert all(one.manifest is not None for one in imported.event_types)


# --- any configuration -----------------------------------------------------------------------------------

_NAMES: Final = st.sampled_from(
    ("mars", "runs", "Runs", "a_b", "a-b", "a b", "1x", "x" * 70, "payload", "to_id", "ÄRA", "no", "1e3")
)
_TEXTS: Final = st.text(max_size=5) | st.sampled_from(("no", "1e3", "0x1", "2030-01-01", "~", "x" * 70))
_COMMON: Final = {"required": st.booleans(), "description": _TEXTS | st.just("d" * 600)}
_FLOATS: Final = st.floats(-1e3, 1e3) | st.sampled_from((1e-7, 1e22, -1e300, 5e-324))


def _handler(kind: str, **members: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"type": st.just(kind), "required": _COMMON["required"]},
        optional={"description": _COMMON["description"], **members},
    )


def _range(numbers: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(numbers, min_size=2, max_size=2).map(sorted)


_HANDLERS: Final = st.one_of(
    _handler("StringHandler", max_length=st.sampled_from((1, 256, 257))),
    _handler("DateHandler", canonical_format=st.sampled_from(("%Y%m%d", "%Y-%m-%d"))),
    _handler("TimeHandler"),
    _handler("IntHandler", range=_range(st.integers(-10, 10) | st.sampled_from((2**62, -(2**70), 2**70)))),
    _handler("FloatHandler", range=_range(_FLOATS)),
    _handler("ExpverHandler", default=st.sampled_from(("1", "0001", "x" * 40, ""))),
    st.builds(
        lambda values, required: {"type": "EnumHandler", "values": values, "required": required},
        st.lists(_TEXTS.filter(bool), min_size=1, max_size=4)
        | st.just([str(number) for number in range(200)]),
        st.booleans(),
    ),
)
_ROLES: Final = st.dictionaries(
    st.sampled_from(("main", "other", "r" * 70)),
    st.lists(st.sampled_from(("a", "b", "*")), max_size=3),
    max_size=2,
)
_AUTH: Final = st.fixed_dictionaries(
    {"required": st.booleans()},
    optional={"read_roles": _ROLES, "write_roles": _ROLES, "plugins": st.just(["ecpds"])},
)
_POLICIES: Final = st.fixed_dictionaries(
    {},
    optional={
        "retention_time": st.sampled_from(("5s", "90s", "2W", "36h", "4000d", "10000d")),
        "max_messages": st.integers(1, 2**40),
        "max_size": st.sampled_from(("1", "512K", "1Mi", "10Gi", "7T", "5000Ti")),
        "allow_duplicates": st.booleans(),
        "compression": st.booleans(),
    },
)


@st.composite
def event_types(draw: st.DrawFn) -> dict[str, Any]:
    """Return the block of an event type."""
    identifier: dict[str, Any] = draw(st.dictionaries(_NAMES, _HANDLERS, max_size=4))
    has_shape, has_topic = draw(st.tuples(st.booleans(), st.booleans()))
    if has_shape:
        identifier["polygon"] = {"type": "PolygonHandler", "required": False}
    block: dict[str, Any] = {"identifier": identifier}
    if identifier and has_topic:
        order = draw(st.lists(st.sampled_from(sorted(identifier)), unique=True, min_size=1))
        base = draw(st.sampled_from(("mars", "MARS", "runs", "2t", "x_-y", "b" * 40)))
        block["topic"] = {"base": base, "key_order": order}
    others: dict[str, st.SearchStrategy[Any]] = {
        "payload": st.fixed_dictionaries({"required": st.booleans()}),
        "auth": _AUTH,
        "storage_policy": _POLICIES,
        "max_historical_notifications": st.integers(1, 10**6),
    }
    more: dict[str, Any] = draw(st.fixed_dictionaries({}, optional=others))
    return block | more


_CONFIGURATIONS: Final = st.fixed_dictionaries(
    {"notification_schema": st.dictionaries(_NAMES, event_types(), max_size=3)},
    optional={
        "notification_backend": st.sampled_from(
            (
                {"kind": "in_memory"},
                ON_JETSTREAM,
                {"kind": "jetstream", "jetstream": {"storage_type": "memory"}},
            )
        ),
    },
)


@given(_CONFIGURATIONS)
def test_whatever_is_imported_means_the_same_or_is_told(configuration: dict[str, Any]) -> None:
    """Faults are told before anything is imported, so only good ones come here."""
    schemas, faults = read_notification_schema(configuration["notification_schema"])
    assume(not faults)
    assume(not any(map(check_schema, schemas)))
    assume(not check_together(schemas))
    event(f"{len(schemas)} event types")
    check_import(configuration)


@given(_CONFIGURATIONS)
def test_nothing_is_ever_taken_over_that_would_be_misread(configuration: dict[str, Any]) -> None:
    """A stream whose subjects are of other values than the manifest's is left alone."""
    schemas, faults = read_notification_schema(configuration["notification_schema"])
    assume(not faults)
    assume(not any(map(check_schema, schemas)))
    for schema, one in zip(
        schemas, import_configuration(configuration, schemas, adopt=True).event_types, strict=True
    ):
        if one.manifest is None:
            continue
        shapes = [name for name in schema.routed if isinstance(schema.field(name), SpatialField)]
        assert ("annotations" in one.manifest["metadata"]) is not bool(shapes)


@given(
    st.recursive(
        _TEXTS | st.integers(-(2**63), 2**63 - 1) | st.booleans(),
        lambda inner: st.lists(inner, max_size=3),
        max_leaves=5,
    )
)
def test_what_is_written_is_read_as_it_was(value: object) -> None:
    assume(all(text.isprintable() or text.isascii() for text in _texts_in(value)))
    read, fault = read_mapping(yaml_text({"value": value}).encode(), name="x.yaml")
    assert fault is None
    assert read == {"value": value}


def _texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for inner in value:
            yield from _texts_in(inner)
