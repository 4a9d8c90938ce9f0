"""`avisod check`: files → all of their faults, as lines for people or as JSON for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

import msgspec

from aviso_all_in_one.command.printing import printable
from aviso_all_in_one.files.configuration import configuration_findings
from aviso_all_in_one.files.declaration import Declaration, declaration_of, findings_together
from aviso_all_in_one.files.document import Document, documents_of, nothing_in
from aviso_all_in_one.files.finding import Finding
from aviso_all_in_one.files.source import read_sources

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aviso_all_in_one.command.wanted import Check


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """One document and the event types in it that can be told."""

    file: str
    line: int
    kind: str
    event_types: tuple[str, ...]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What `--json` writes: whether all is well, what was looked at, what is wrong, what could not be read."""

    ok: bool
    checked: tuple[Checked, ...]
    faults: tuple[Finding, ...]
    unreadable: tuple[Finding, ...]


def run(wanted: Check, *, environ: Mapping[str, str], out: TextIO, err: TextIO) -> int:
    """Check the files and return the exit code."""
    report = check(wanted.paths, environ)
    if wanted.json:
        out.write(msgspec.json.format(msgspec.json.encode(report)).decode() + "\n")
    else:
        _write(report, out, err)
    return 2 if report.unreadable else 0 if report.ok else 1


def check(paths: Sequence[str], environ: Mapping[str, str]) -> Report:
    """Return what there is to say about some files and folders."""
    sources = read_sources(paths)
    faults: list[Finding] = []
    declarations: list[Declaration] = []
    for source in sources.read:
        documents, found = documents_of(source)
        faults += found
        for document in documents:
            declaration = declaration_of(document)
            declarations.append(declaration)
            faults += _of_document(declaration, environ)
    faults += findings_together(declarations)
    if not declarations and not faults:
        faults += [nothing_in(source) for source in sources.read]
    return Report(
        ok=not faults and not sources.unreadable,
        checked=tuple(_checked(declaration) for declaration in declarations),
        faults=tuple(faults),
        unreadable=sources.unreadable,
    )


def _of_document(declaration: Declaration, environ: Mapping[str, str]) -> Sequence[Finding]:
    document: Document = declaration.document
    if document.kind == "configuration":
        return configuration_findings(document, environ)
    return declaration.findings


def _checked(declaration: Declaration) -> Checked:
    document = declaration.document
    return Checked(
        file=document.source.name,
        line=document.line,
        kind=document.kind,
        event_types=tuple(schema.event_type for schema in declaration.schemas),
    )


# --- for people -------------------------------------------------------------------------------------------


def _write(report: Report, out: TextIO, err: TextIO) -> None:
    faulty = {fault.file for fault in report.faults}
    out.writelines(f"{printable(_good(one))}\n" for one in report.checked if one.file not in faulty)
    for fault in report.faults:
        out.writelines(finding_lines(fault))
    for finding in report.unreadable:
        err.writelines(finding_lines(finding))
    out.write(_summary(report))


def finding_lines(finding: Finding) -> list[str]:
    """Return a finding as lines: where and what, then the remedy."""
    path = f" {finding.path}:" if finding.path else ""
    lines = [f"{printable(f'{finding.place}:{path} {finding.message}')}\n"]
    return [*lines, f"    {printable(finding.remedy)}\n"] if finding.remedy else lines


def _good(checked: Checked) -> str:
    names = ", ".join(checked.event_types) or "no event type"
    return f"{checked.file}: {checked.kind} with {names}: good"


def _summary(report: Report) -> str:
    if report.ok:
        return "no faults\n"
    faults = f"{len(report.faults)} fault{'' if len(report.faults) == 1 else 's'}"
    return f"{faults}, {len(report.unreadable)} not read\n" if report.unreadable else f"{faults}\n"
