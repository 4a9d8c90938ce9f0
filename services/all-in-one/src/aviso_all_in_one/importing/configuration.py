"""A configuration → the manifests of all its event types, and what there is to say about the whole of it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from aviso_all_in_one.importing.event_type import Imported, import_schema
from aviso_all_in_one.importing.notes import Note
from aviso_core.eventlog.open import stream_defaults
from aviso_core.plain.decode import decode
from aviso_core.planning.plan import ADOPT
from aviso_core.schema.stream import StreamDefaults
from aviso_core.settings.model import NotificationBackend, Settings
from aviso_core.settings.refusals import backend_faults

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aviso_core.schema.model import Schema

BLOCK: Final = "notification_schema"
_MEMBERS: Final = (
    "identifier", "topic", "payload", "auth", "storage_policy", "max_historical_notifications",
)  # fmt: skip
# In these blocks the services pass over what they do not know.
_MEMBERS_OF: Final[Mapping[str, Sequence[str]]] = {
    "topic": ("base", "key_order"),
    "storage_policy": ("retention_time", "max_messages", "max_size", "allow_duplicates", "compression"),
}


class Import(msgspec.Struct, frozen=True, kw_only=True):
    """All event types, and the notes in the order of the file."""

    event_types: tuple[Imported, ...]
    notes: tuple[Note, ...]

    @property
    def is_complete(self) -> bool:
        """Whether the manifests mean all that the configuration meant."""
        return all(note.kind == "note" for note in self.notes)


def import_configuration(mapping: Mapping[str, object], schemas: Sequence[Schema], *, adopt: bool) -> Import:
    """Return the manifests of a configuration whose event types have no faults."""
    defaults = _defaults(mapping)
    imported = [
        import_schema(schema, defaults, path=f"{BLOCK}.{schema.event_type}", adopt=adopt)
        for schema in schemas
    ]
    event_types = tuple(_without_twins(imported))
    notes = [*_settings_notes(mapping), *_whole(event_types, adopt=adopt)]
    for one in event_types:
        notes += [*one.notes, *_passed_over(mapping, one.event_type)]
    return Import(event_types=event_types, notes=tuple(notes))


def _defaults(mapping: Mapping[str, object]) -> StreamDefaults:
    """Return what streams are like where an event type says nothing; what cannot be read says nothing."""
    backend, _ = decode(NotificationBackend, mapping.get("notification_backend") or {})
    if backend is None or backend.kind != "jetstream" or list(backend_faults(backend)):
        return StreamDefaults()
    return stream_defaults(backend.jetstream)


def _without_twins(imported: Sequence[Imported]) -> Iterator[Imported]:
    """Yield all, without manifests that meet in a name or a base because these were changed."""
    taken: dict[tuple[str, str], str] = {}
    # Who is called as before goes before who would be called the same by now.
    for one in sorted(imported, key=_is_renamed):
        for mark in _marks(one):
            taken.setdefault(mark, one.event_type)
    for one in imported:
        twin = next((taken[mark] for mark in _marks(one) if taken[mark] != one.event_type), None)
        yield one if twin is None else _left_out(one, twin)


def _marks(one: Imported) -> Sequence[tuple[str, str]]:
    """Return what no two manifests have in common."""
    if one.manifest is None:
        return ()
    return ("name", one.name), ("base", one.manifest["spec"]["topic"]["base"])


def _left_out(one: Imported, twin: str) -> Imported:
    note = Note(
        kind="left out",
        path=f"{BLOCK}.{one.event_type}",
        message=f"its name or topic base, written as a manifest takes it, is that of '{twin}'",
        remedy="rename one of them",
    )
    return Imported(event_type=one.event_type, manifest=None, notes=(note,))


def _is_renamed(one: Imported) -> bool:
    return one.manifest is not None and one.manifest["spec"].get("eventType", one.name) != one.event_type


# --- the whole of it --------------------------------------------------------------------------------------


def _settings_notes(mapping: Mapping[str, object]) -> Iterator[Note]:
    for block in mapping:
        if block == BLOCK:
            continue
        if block not in Settings.__struct_fields__:
            yield _note(block, "is no setting of the services, and means nothing to them either")
        else:
            yield _note(
                block,
                "is a setting of the services and not of an event type",
                "keep it in their configuration: with the chart, in its values",
            )
    backend = mapping.get("notification_backend")
    kind = backend.get("kind") if isinstance(backend, Mapping) else None
    if kind != "jetstream":
        yield Note(
            kind="changed",
            path="notification_backend.kind",
            message=f"is {kind or 'not set'}, and EventSchemas are served from a broker",
            remedy="set it to jetstream in the configuration of the services, with the broker's address",
        )


def _whole(event_types: Sequence[Imported], *, adopt: bool) -> Iterator[Note]:
    yield _note(
        BLOCK,
        "is what the manifests take the place of",
        "remove it from the configuration of the services, and set registry.kind to jetstream there",
    )
    yield _note(
        BLOCK,
        "later changes that would break producers, readers or stored events are refused: compatibility is Backward",
        "set spec.compatibility to None in a manifest where that is not wanted",
    )
    if not adopt and any(one.manifest for one in event_types):
        yield _note(
            BLOCK,
            f"streams that are there already are left alone: no manifest is annotated with {ADOPT}",
            "import with --adopt to take them over with all that they hold",
        )


def _passed_over(mapping: Mapping[str, object], event_type: str) -> Iterator[Note]:
    block = mapping[BLOCK]
    declared = block.get(event_type) if isinstance(block, Mapping) else None
    if not isinstance(declared, Mapping):
        return
    known: dict[str, Sequence[str]] = {"": _MEMBERS, **_MEMBERS_OF}
    for name, members in known.items():
        inner = declared.get(name) if name else declared
        for key in inner if isinstance(inner, Mapping) else ():
            if key not in members:
                path = ".".join(filter(None, (BLOCK, event_type, name, str(key))))
                yield _note(path, "means nothing to the services: it is left out")


def _note(path: str, message: str, remedy: str = "") -> Note:
    return Note(kind="note", path=path, message=message, remedy=remedy)
