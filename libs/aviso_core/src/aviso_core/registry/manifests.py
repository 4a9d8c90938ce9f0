"""The files of a folder → what each event type should be. Pure: the folder is looked at elsewhere.

A manifest with faults is reported for its event type. As long as a file has any fault, nothing that it declared before
counts as removed from it: the fault may be what hides it, so that is reported too. A file that declares nothing that
anybody can make out is reported under its own name. Which of two manifests of one event type is meant is not guessed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from aviso_core.errors import Fault
from aviso_core.json_text import NotJson, check_nesting
from aviso_core.plain.yaml_lines import lines_of_document
from aviso_core.plain.yaml_mapping import Document, read_mappings
from aviso_core.schema.check import check_schema
from aviso_core.schema.manifest import read_manifest
from aviso_core.schema.model import Schema

if TYPE_CHECKING:
    from collections.abc import Iterable

SUFFIXES: Final = (".yaml", ".yml", ".json")
# The cluster takes no larger resource either.
LARGEST_FILE: Final = 1024 * 1024


class Declared(msgspec.Struct, frozen=True):
    """One manifest: the event type as far as it can be told, where it stands, and its schema or its faults."""

    event_type: str | None
    place: str
    found: Schema | str


class FileReading(msgspec.Struct, frozen=True, kw_only=True):
    """What one file declares, or why nobody can tell."""

    declared: tuple[Declared, ...] = ()
    fault: str | None = None

    @property
    def event_types(self) -> frozenset[str]:
        """The event types that can be made out, with faults or without."""
        return frozenset(one.event_type for one in self.declared if one.event_type is not None)

    @property
    def faulty(self) -> list[Declared]:
        """The manifests with faults."""
        return [one for one in self.declared if isinstance(one.found, str)]


# Event type → its schema, or why what its manifest says cannot be had.
Wanted: TypeAlias = Mapping[str, Schema | str]


def is_of_manifests(name: str) -> bool:
    """Tell whether a file of that name is read: its ending counts in large and small letters, a hidden one does not."""
    return not name.startswith(".") and name.lower().endswith(SUFFIXES)


def shown(name: str) -> str:
    """Return a file's name as text: one that is no UTF-8 could not be told to anybody."""
    return name.encode(errors="backslashreplace").decode()


def read_file(name: str, content: bytes) -> FileReading:
    """Return what a file declares."""
    name = shown(name)
    if len(content) > LARGEST_FILE:
        fault = Fault(
            path=name,
            message=f"is larger than {LARGEST_FILE} bytes",
            remedy="use one file for each event type",
        )
        return FileReading(fault=str(fault))
    documents, trouble = (
        _read_json(name, content) if name.lower().endswith(".json") else read_mappings(content, name=name)
    )
    if trouble is not None:
        return FileReading(fault=str(trouble))
    return FileReading(declared=tuple(_declared(name, content, document) for document in documents))


def _read_json(name: str, content: bytes) -> tuple[list[Document], Fault | None]:
    line, remedy = 1, "mend the file around that line"
    try:
        check_nesting(content)
        value = json.loads(content)
        if isinstance(value, dict):
            return [Document(value, 1)], None
        message, remedy = "is not a mapping", "write one manifest in the file"
    except json.JSONDecodeError as error:
        line, message = error.lineno, f"is not JSON: {error.msg}"
    except (NotJson, ValueError) as error:
        message = f"is not JSON: {error}"
    return [], Fault(path=f"{name}, line {line}", message=message, remedy=remedy)


def _declared(name: str, content: bytes, document: Document) -> Declared:
    place = f"{name}, line {document.line}"
    schema, faults = read_manifest(document.mapping)
    if schema is None:
        return Declared(_event_type_of(document.mapping), place, _described(name, content, document, faults))
    faults = check_schema(schema)
    if faults:
        return Declared(schema.event_type, place, "\n".join(f"{place}: {fault}" for fault in faults))
    return Declared(schema.event_type, place, schema)


def _described(name: str, content: bytes, document: Document, faults: Iterable[Fault]) -> str:
    lines = lines_of_document(content, document.line)
    return "\n".join(f"{name}, line {lines.line_of(fault.path)}: {fault}" for fault in faults)


def _event_type_of(document: Mapping[str, object]) -> str | None:
    """Return the event type that a manifest with faults is about, if it says so."""
    for block, key in (("spec", "eventType"), ("metadata", "name")):
        part = document.get(block)
        name = part.get(key) if isinstance(part, dict) else None
        if isinstance(name, str) and name:
            return name
    return None


def wanted_of(readings: Mapping[str, FileReading], declared_before: Mapping[str, frozenset[str]]) -> Wanted:
    """Return what all files together want. What a file declared before counts where it cannot be read now."""
    by_event_type: dict[str, list[Declared]] = {}
    lost: dict[str, str] = {}
    for name, reading in sorted(readings.items()):
        for declared in reading.declared:
            if declared.event_type is not None:
                by_event_type.setdefault(declared.event_type, []).append(declared)
        lost |= _lost(name, reading, declared_before.get(name, frozenset()))
    wanted = {event_type: _one_of(several) for event_type, several in by_event_type.items()}
    return lost | wanted


def _lost(name: str, reading: FileReading, before: frozenset[str]) -> dict[str, str]:
    """Return what is to be said of event types that a file may still mean to declare, or else of the file."""
    nameless = [one.found for one in reading.faulty if one.event_type is None]
    nameless += [reading.fault] if reading.fault is not None else []
    named = [one.found for one in reading.faulty if one.event_type is not None]
    kept = before - reading.event_types
    if kept and (nameless or named):
        return dict.fromkeys(kept, _lines(nameless + named))
    return {shown(name): _lines(nameless)} if nameless else {}


def _lines(reasons: Iterable[Schema | str]) -> str:
    return "\n".join(map(str, reasons))


def _one_of(several: list[Declared]) -> Schema | str:
    if len(several) == 1:
        return several[0].found
    places = " and in ".join(one.place for one in several)
    return f"is declared more than once: in {places}"


def remembered(reading: FileReading, before: frozenset[str]) -> frozenset[str]:
    """Return which event types a file is taken to declare from now on."""
    return (
        reading.event_types | before if reading.fault is not None or reading.faulty else reading.event_types
    )
