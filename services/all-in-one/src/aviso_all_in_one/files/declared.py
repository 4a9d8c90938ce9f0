"""A file or folder → its documents with their event types, or everything that keeps them from being told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aviso_all_in_one.files.declaration import Declaration, declaration_of, findings_together
from aviso_all_in_one.files.document import documents_of
from aviso_all_in_one.files.finding import Finding
from aviso_all_in_one.files.source import read_sources

if TYPE_CHECKING:
    from aviso_core.schema.model import Schema


def declarations_of(path: str) -> tuple[list[Declaration], list[Finding]]:
    """Return the documents that a file or folder has, and all that is wrong with them."""
    sources = read_sources([path])
    findings = list(sources.unreadable)
    declarations: list[Declaration] = []
    for source in sources.read:
        documents, found = documents_of(source)
        findings += found
        declarations += map(declaration_of, documents)
    findings += [finding for declaration in declarations for finding in declaration.findings]
    findings += findings_together(declarations)
    if not findings and not any(declaration.schemas for declaration in declarations):
        findings.append(
            Finding(file=path, message="declares no event type", remedy="name EventSchema manifests")
        )
    return declarations, findings


def event_types_of(path: str) -> tuple[dict[str, Schema], list[Finding]]:
    """Return the event types that a file or folder declares, or why they cannot be told."""
    declarations, findings = declarations_of(path)
    return {
        schema.event_type: schema for declaration in declarations for schema in declaration.schemas
    }, findings
