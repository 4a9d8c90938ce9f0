"""`avisod schema diff`: two places with event types → what changed and what breaks, as a table or as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

import msgspec

from aviso_all_in_one.command.check import finding_lines
from aviso_all_in_one.command.printing import printable
from aviso_all_in_one.comparison import Comparison, change_text, compare, fault_text
from aviso_all_in_one.files.declared import event_types_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from aviso_all_in_one.command.wanted import SchemaDiff

_HEADER = ("EVENT TYPE", "VERDICT", "WHERE", "WHAT")


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
        yield name, "breaks", fault.path, fault_text(fault)
    for change in comparison.changes:
        yield name, "compatible", change.path, change_text(change)


def _columns(rows: Sequence[tuple[str, ...]]) -> Iterable[str]:
    widths = [max(len(printable(cell)) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [printable(cell).ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield "  ".join(cells).rstrip()
