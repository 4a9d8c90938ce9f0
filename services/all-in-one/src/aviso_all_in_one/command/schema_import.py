"""`avisod schema import`: a configuration file → EventSchema manifests, and a report of what they cannot say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

import msgspec

from aviso_all_in_one.command.check import finding_lines
from aviso_all_in_one.command.printing import printable
from aviso_all_in_one.files.declaration import with_lines
from aviso_all_in_one.files.declared import declarations_of
from aviso_all_in_one.files.finding import Finding
from aviso_all_in_one.importing.configuration import Import, import_configuration
from aviso_all_in_one.importing.notes import Kind
from aviso_core.errors import Fault
from aviso_core.plain.yaml_text import yaml_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from aviso_all_in_one.command.wanted import SchemaImport
    from aviso_all_in_one.files.declaration import Declaration

_STANDARD_OUTPUT: Final = "-"


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """A note, with the place that it is about."""

    kind: Kind
    about: Finding


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What `--json` writes: whether the manifests mean all that was meant, the manifests, and the notes."""

    complete: bool
    manifests: tuple[dict[str, Any], ...]
    notes: tuple[Told, ...]


def run(wanted: SchemaImport, *, out: TextIO, err: TextIO) -> int:
    """Make the manifests and return the exit code."""
    declaration, findings = _configuration(wanted.path)
    if declaration is None:
        return _refuse(findings, err)
    document = declaration.document
    imported = import_configuration(document.mapping, declaration.schemas, adopt=wanted.adopt)
    manifests = {one.name: one.manifest for one in imported.event_types if one.manifest is not None}
    if wanted.output != _STANDARD_OUTPUT:
        findings = _write(Path(wanted.output), manifests)
        if findings:
            return _refuse(findings, err)
    told = tuple(_told(declaration, imported))
    if wanted.json:
        report = Report(complete=imported.is_complete, manifests=tuple(manifests.values()), notes=told)
        out.write(msgspec.json.format(msgspec.json.encode(report)).decode() + "\n")
    else:
        if wanted.output == _STANDARD_OUTPUT:
            out.write("---\n".join(map(yaml_text, manifests.values())))
        err.writelines(line for one in told for line in _lines(one))
    return 0 if imported.is_complete else 1


def _configuration(path: str) -> tuple[Declaration | None, list[Finding]]:
    """Return the one configuration of a file, or why there is none to import."""
    declarations, findings = declarations_of(path)
    if findings:
        return None, findings
    if len(declarations) == 1 and declarations[0].document.kind == "configuration":
        return declarations[0], []
    message = "holds manifests, or more than one document"
    return None, [Finding(file=path, message=message, remedy="name one configuration file")]


def _refuse(findings: Sequence[Finding], err: TextIO) -> int:
    for finding in findings:
        err.writelines(finding_lines(finding))
    return 2


# --- writing ----------------------------------------------------------------------------------------------


def _write(folder: Path, manifests: Mapping[str, dict[str, Any]]) -> list[Finding]:
    """Write one file for each manifest, or none where one of them would replace something else."""
    texts = {folder / f"{name}.yaml": yaml_text(manifest) for name, manifest in manifests.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = [path for path, text in texts.items() if path.exists() and path.read_bytes() != text.encode()]
        if not taken:
            for path, text in texts.items():
                path.write_bytes(text.encode())
    except OSError as error:
        return [Finding(file=str(folder), message=f"cannot be written: {error.strerror or error}")]
    return [
        Finding(
            file=str(path),
            message="is there already and says something else",
            remedy="name another folder, or move it away; nothing was written",
        )
        for path in taken
    ]


# --- the report -------------------------------------------------------------------------------------------


def _told(declaration: Declaration, imported: Import) -> Iterator[Told]:
    faults = [Fault(path=note.path, message=note.message, remedy=note.remedy) for note in imported.notes]
    findings = with_lines(declaration.document, faults)
    for note, finding in zip(imported.notes, findings, strict=True):
        yield Told(kind=note.kind, about=finding)


def _lines(told: Told) -> list[str]:
    about = told.about
    lines = [f"{about.place}: {told.kind}: {about.path}: {about.message}"]
    if about.remedy:
        lines.append(f"    {about.remedy}")
    return [f"{printable(line)}\n" for line in lines]
