"""The documents of a file, and what each of them is: a manifest, a configuration, or nothing that is known."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from aviso_all_in_one.files.finding import Finding
from aviso_all_in_one.files.source import Source
from aviso_core.errors import Fault
from aviso_core.json_text import NotJson, check_nesting
from aviso_core.plain.yaml_mapping import read_mappings
from aviso_core.settings.model import Settings

Kind: TypeAlias = Literal["manifest", "configuration"]

_BLOCKS: Final = frozenset(Settings.__struct_fields__)
_WHAT_IS_KNOWN: Final = (
    "a manifest has apiVersion, kind, metadata and spec; a configuration has application and others"
)
_LINE: Final = re.compile(r", line ([0-9]+)$", re.ASCII)


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One mapping of a file, the line on which it begins, and what it is."""

    source: Source
    line: int
    mapping: Mapping[str, object]
    kind: Kind


def documents_of(source: Source) -> tuple[list[Document], list[Finding]]:
    """Return the documents of a file, or what is wrong with it. A file without any value has none."""
    read, trouble = _read(source)
    if trouble is not None:
        return [], [_of_file(source, trouble)]
    documents: list[Document] = []
    findings: list[Finding] = []
    for mapping, line in read:
        kind = _kind(mapping)
        if kind is None:
            findings.append(_unknown(source, line, mapping))
        elif kind == "configuration" and len(read) > 1:
            findings.append(_not_alone(source, line))
        else:
            documents.append(Document(source=source, line=line, mapping=mapping, kind=kind))
    return documents, findings


def _read(source: Source) -> tuple[list[tuple[dict[str, object], int]], Fault | None]:
    if not source.name.lower().endswith(".json"):
        documents, trouble = read_mappings(source.content, name=source.name)
        return [(document.mapping, document.line) for document in documents], trouble
    # JSON may be indented by tabs, which YAML does not take; the folder registry reads it as JSON too.
    try:
        check_nesting(source.content)
        value = json.loads(source.content)
    except json.JSONDecodeError as error:
        return [], _not_json(source, error.lineno, error.msg)
    except (NotJson, ValueError) as error:
        return [], _not_json(source, 1, str(error))
    if not isinstance(value, dict):
        return [], Fault(path=f"{source.name}, line 1", message="is not a mapping", remedy="write an object")
    return [(value, 1)], None


def _not_json(source: Source, line: int, reason: str) -> Fault:
    message = f"is not JSON: {reason}"
    return Fault(path=f"{source.name}, line {line}", message=message, remedy="mend the file around that line")


def _of_file(source: Source, fault: Fault) -> Finding:
    """Return the finding of a fault whose path is the file and the line."""
    match = _LINE.search(fault.path)
    line = int(match[1]) if match else None
    return Finding(file=source.name, line=line, message=fault.message, remedy=fault.remedy)


def _kind(mapping: Mapping[str, object]) -> Kind | None:
    if "kind" in mapping or "apiVersion" in mapping:
        return "manifest"
    return "configuration" if mapping.keys() & _BLOCKS else None


def _unknown(source: Source, line: int, mapping: Mapping[str, object]) -> Finding:
    says = f"its keys are {', '.join(sorted(mapping)[:5])}" if mapping else "it is empty"
    return Finding(
        file=source.name,
        line=line,
        message=f"is neither an EventSchema manifest nor a configuration: {says}",
        remedy=_WHAT_IS_KNOWN,
    )


def nothing_in(source: Source) -> Finding:
    """Return the finding of a file without any value, where something was expected."""
    return Finding(
        file=source.name,
        line=1,
        message="is neither an EventSchema manifest nor a configuration: it holds nothing",
        remedy=_WHAT_IS_KNOWN,
    )


def _not_alone(source: Source, line: int) -> Finding:
    return Finding(
        file=source.name,
        line=line,
        message="is a configuration in a file with other documents",
        remedy="give the configuration a file of its own",
    )
