"""One event type of a configuration → its manifest, and what there is to say about that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from aviso_all_in_one.importing.access import access
from aviso_all_in_one.importing.identifiers import identifiers, renamed
from aviso_all_in_one.importing.names import (
    LONGEST_BASE,
    LONGEST_EVENT_TYPE,
    base_name,
    event_type_name,
    object_name,
)
from aviso_all_in_one.importing.notes import LeftOut, Note, Notes
from aviso_all_in_one.importing.storage import storage
from aviso_core.planning.plan import ADOPT
from aviso_core.schema.manifest_parts import API_VERSION, KIND
from aviso_core.schema.manifest_rules import SHAPE_NAMES
from aviso_core.schema.stream import stream_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aviso_core.schema.model import Schema
    from aviso_core.schema.stream import StreamDefaults

MOST_KEYS: Final = 16


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """An event type: its manifest, or None where none can be made, and the notes."""

    event_type: str
    manifest: dict[str, Any] | None
    notes: tuple[Note, ...]

    @property
    def name(self) -> str:
        """The name of the resource."""
        assert self.manifest is not None
        name: str = self.manifest["metadata"]["name"]
        return name


def import_schema(schema: Schema, defaults: StreamDefaults, *, path: str, adopt: bool) -> Imported:
    """Return the manifest of a schema without faults."""
    notes = Notes(path)
    try:
        manifest = _manifest(schema, defaults, notes, adopt=adopt)
    except LeftOut as reason:
        # What was said about the rest of it is of no use any more.
        return Imported(event_type=schema.event_type, manifest=None, notes=(reason.note,))
    return Imported(event_type=schema.event_type, manifest=manifest, notes=tuple(notes.made))


def _manifest(schema: Schema, defaults: StreamDefaults, notes: Notes, *, adopt: bool) -> dict[str, Any]:
    event_type = _event_type(schema, notes)
    name = object_name(event_type)
    names = renamed(schema, notes)
    parts = identifiers(schema, names, notes)
    base, key_order = _base(schema, notes), _key_order(schema, names, notes)
    spec: dict[str, Any] = {} if name == event_type else {"eventType": event_type}
    spec |= {"topic": {"base": base, "keyOrder": key_order}, "identifiers": parts}
    if schema.payload is not None and schema.payload.required:
        spec["payload"] = {"required": True}
    spec |= {"auth": access(schema.auth, notes), "storage": storage(schema, defaults, notes)}
    if schema.max_historical_notifications is not None:
        spec["maxHistoricalNotifications"] = schema.max_historical_notifications
    metadata: dict[str, Any] = {"name": name}
    if adopt and len(key_order) == len(schema.routed):
        metadata["annotations"] = {ADOPT: stream_name(base)}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec}


def _event_type(schema: Schema, notes: Notes) -> str:
    near = event_type_name(schema.event_type)
    if near != schema.event_type:
        notes.change(
            "",
            f"is called '{near}' in the manifest, which takes [a-z][a-z0-9_]*, at most {LONGEST_EVENT_TYPE} characters",
            f"publishers and readers have to say '{near}' from then on",
        )
    return near


def _base(schema: Schema, notes: Notes) -> str:
    near, path = base_name(schema.base), "topic.base" if schema.topic else ""
    if near == schema.base:
        return near
    if near == schema.base.lower():
        notes.know(
            path,
            f"topic base '{schema.base}' is '{near}' in the manifest: large and small letters are the same, and "
            "stored subjects keep their spelling",
        )
        return near
    notes.change(
        path,
        f"topic base '{schema.base}' is '{near}' in the manifest, which takes [a-z][a-z0-9_-]*, at most "
        f"{LONGEST_BASE} characters",
        f"what is stored stays in stream {stream_name(schema.base)} and is not found under the new base: copy it, "
        "or begin anew",
    )
    return near


def _key_order(schema: Schema, names: Mapping[str, str], notes: Notes) -> list[str]:
    shapes = [name for name in schema.routed if name in SHAPE_NAMES.values()]
    kept = [name for name in schema.routed if name not in shapes]
    if schema.topic is None:
        notes.know(
            "topic",
            "is not there, so topics are made of all identifiers by their names: the manifest says so",
        )
    for shape in shapes:
        notes.change(
            "topic.key_order" if schema.topic else "topic",
            f"'{shape}' is not in topic.keyOrder of the manifest: a shape is stored beside the topic",
            f"filters go on as before; but what is stored has it in its subjects and would be misread, so stream "
            f"{stream_name(schema.base)} is not taken over: declare another topic base, or remove that stream first",
        )
    if not 1 <= len(kept) <= MOST_KEYS:
        raise notes.leave_out(
            "topic.key_order" if schema.topic else "topic",
            f"has {len(kept)} identifiers that a manifest takes there, which are 1 to {MOST_KEYS}",
            "name at least one that is no shape"
            if not kept
            else "keep the others outside of the topic: they are stored and filterable all the same",
        )
    return [names[name] for name in kept]
