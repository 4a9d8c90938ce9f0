"""What a document declares: its event types, and every fault with its line.

The rules are the core's. What is added here is the way back: from the path by which a rule calls a member to the path
by which the file does, and from there to the line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from aviso_all_in_one.files.document import Document
from aviso_all_in_one.files.finding import Finding, found
from aviso_core.plain.yaml_lines import lines_of_document
from aviso_core.registry.manifests import LARGEST_FILE
from aviso_core.schema.check import check_schema, check_together
from aviso_core.schema.configuration import read_notification_schema
from aviso_core.schema.manifest import read_manifest
from aviso_core.schema.model import Schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from aviso_core.errors import Fault

_BLOCK = "notification_schema"


class Declaration(msgspec.Struct, frozen=True, kw_only=True):
    """A document, its event types without faults, and the faults of all of them."""

    document: Document
    schemas: tuple[Schema, ...] = ()
    findings: tuple[Finding, ...] = ()


def declaration_of(document: Document) -> Declaration:
    """Return the event types of a document."""
    if document.kind == "manifest":
        return _of_manifest(document)
    schemas, faults = configured_schemas(document.mapping)
    return Declaration(
        document=document, schemas=schemas, findings=tuple(with_lines(document, faults)) if faults else ()
    )


# --- manifests --------------------------------------------------------------------------------------------


def _of_manifest(document: Document) -> Declaration:
    if len(document.source.content) > LARGEST_FILE:
        return Declaration(document=document, findings=(_too_large(document),))
    schema, faults = read_manifest(document.mapping)
    if schema is not None:
        faults = [replace(fault, path=manifest_path(fault.path, schema)) for fault in check_schema(schema)]
    if faults or schema is None:
        return Declaration(document=document, findings=tuple(with_lines(document, faults)))
    return Declaration(document=document, schemas=(schema,))


def _too_large(document: Document) -> Finding:
    return Finding(
        file=document.source.name,
        message=f"is larger than {LARGEST_FILE} bytes, and no service would read it",
        remedy="use one file for each event type",
    )


def manifest_path(path: str, schema: Schema) -> str:
    """Return how a manifest calls what `check_schema` calls `<event type>.<path of the schema>`."""
    keys = path.removeprefix(schema.event_type).strip(".").split(".")
    match keys:
        case [""]:
            return "spec"
        case ["identifier", name, *rest]:
            # Of two with one name the second is at fault.
            places = [place for place, field in enumerate(schema.fields) if field.name == name]
            return ".".join([f"spec.identifiers[{places[-1]}]", *map(_camel, rest)])
        case ["identifier"]:
            return "spec.identifiers"
    return ".".join(["spec", *map(_camel, keys)])


def _camel(key: str) -> str:
    first, *others = key.split("_")
    return first + "".join(other.capitalize() for other in others)


def findings_together(declarations: Sequence[Declaration]) -> list[Finding]:
    """Return the faults that manifests have only beside each other."""
    declared = [
        (schema, declaration.document)
        for declaration in declarations
        if declaration.document.kind == "manifest"
        for schema in declaration.schemas
    ]
    at_fault = check_together(schema for schema, _ in declared)
    return [_together(fault, declared, at_fault[:place]) for place, fault in enumerate(at_fault)]


def _together(fault: Fault, declared: Sequence[tuple[Schema, Document]], before: Sequence[Fault]) -> Finding:
    """Return the finding of the manifest that is one too many: the second of its name, the third at the next time."""
    event_type = fault.path.partition(".")[0]
    same = [(schema, document) for schema, document in declared if schema.event_type == event_type]
    is_name = fault.path == event_type
    schema, document = same[1 + before.count(fault)] if is_name else same[0]
    located = replace(fault, path="metadata.name" if is_name else manifest_path(fault.path, schema))
    (finding,) = with_lines(document, [located])
    if not is_name:
        return finding
    first = same[0][1]
    return replace(finding, message=f"{finding.message}, first in {first.source.name}:{first.line}")


# --- configurations ---------------------------------------------------------------------------------------


def configured_schemas(mapping: Mapping[str, object]) -> tuple[tuple[Schema, ...], list[Fault]]:
    """Return the event types of a configuration's block, and the faults of all, with paths as the file has them."""
    block = mapping.get(_BLOCK)
    if not isinstance(block, Mapping):
        # Absent, or a fault of the settings.
        return (), []
    schemas, faults = read_notification_schema(block)
    own = [fault for schema in schemas for fault in check_schema(schema)] + check_together(schemas)
    faults += [replace(fault, path=f"{_BLOCK}.{fault.path}") for fault in own]
    return schemas, faults


def with_lines(document: Document, faults: Iterable[Fault]) -> list[Finding]:
    """Return faults with the line where each stands, or where the innermost block around it does."""
    lines = lines_of_document(document.source.content, document.line)
    return [found(fault, file=document.source.name, line=lines.line_of(fault.path)) for fault in faults]
