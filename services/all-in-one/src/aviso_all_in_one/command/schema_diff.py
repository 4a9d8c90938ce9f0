"""`avisod schema diff`: two places with event types → what changed and what breaks, as a table or as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TextIO

import msgspec

from aviso_all_in_one.command.check import finding_lines
from aviso_all_in_one.command.printing import printable
from aviso_all_in_one.comparison import Change, Comparison, compare
from aviso_all_in_one.files.declaration import Declaration, declaration_of, findings_together
from aviso_all_in_one.files.document import documents_of
from aviso_all_in_one.files.finding import Finding
from aviso_all_in_one.files.source import read_sources

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from aviso_all_in_one.command.wanted import SchemaDiff
    from aviso_core.errors import Fault
    from aviso_core.schema.model import Schema

_HEADER = ("EVENT TYPE", "VERDICT", "WHERE", "WHAT")
_LONGEST_VALUE = 60


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """What `--json` writes: the verdict, and each event type."""

    compatible: bool
    event_types: tuple[Comparison, ...]


def run(wanted: SchemaDiff, *, out: TextIO, err: TextIO) -> int:
    """Compare and return the exit code."""
    old, old_findings = event_types_of(wanted.old)
    new, new_findings = event_types_of(wanted.new)
    findings = [*old_findings, *new_findings]
    if findings:
        for finding in findings:
            err.writelines(finding_lines(finding))
        return 2
    comparisons = compare(old, new)
    difference = Difference(
        compatible=all(comparison.compatible for comparison in comparisons), event_types=comparisons
    )
    if wanted.json:
        out.write(msgspec.json.format(msgspec.json.encode(difference)).decode() + "\n")
    else:
        out.writelines(f"{line}\n" for line in table(difference))
    return 0 if difference.compatible else 1


def event_types_of(path: str) -> tuple[dict[str, Schema], list[Finding]]:
    """Return the event types that a file or folder declares, or why they cannot be told."""
    sources = read_sources([path])
    findings = list(sources.unreadable)
    declarations: list[Declaration] = []
    for source in sources.read:
        documents, found = documents_of(source)
        findings += found
        declarations += map(declaration_of, documents)
    findings += [finding for declaration in declarations for finding in declaration.findings]
    findings += findings_together(declarations)
    schemas = {schema.event_type: schema for declaration in declarations for schema in declaration.schemas}
    if not schemas and not findings:
        findings.append(
            Finding(file=path, message="declares no event type", remedy="name EventSchema manifests")
        )
    return schemas, findings


# --- for people -------------------------------------------------------------------------------------------


def table(difference: Difference) -> Iterator[str]:
    """Yield the lines of the table, and the verdict."""
    rows = [row for comparison in difference.event_types for row in _rows(comparison)]
    yield from _columns([_HEADER, *rows])
    yield ""
    count = sum(len(comparison.breaks) for comparison in difference.event_types)
    if difference.compatible:
        yield "compatible: producers, readers and stored events go on as before"
    else:
        yield f"incompatible: {count} change{'' if count == 1 else 's'} would break producers, readers or stored events"


def _rows(comparison: Comparison) -> Iterator[tuple[str, ...]]:
    name = comparison.event_type
    if not comparison.breaks and not comparison.changes:
        yield name, "compatible", "", comparison.state
    for fault in comparison.breaks:
        yield name, "breaks", fault.path, _what(fault)
    for change in comparison.changes:
        yield name, "compatible", change.path, _shown(change)


def _what(fault: Fault) -> str:
    return f"{fault.message} ({fault.remedy})" if fault.remedy else fault.message


def _shown(change: Change) -> str:
    return f"{_value(change.before)} → {_value(change.after)}"


def _value(value: object) -> str:
    if value is None:
        return "not set"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


def _columns(rows: Sequence[tuple[str, ...]]) -> Iterable[str]:
    widths = [max(len(printable(cell)) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [printable(cell).ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield "  ".join(cells).rstrip()
