"""Every fault of a configuration file, as `avisod serve --config` would find them, and then some.

A start tells the faults of shape first and those of meaning only when there are none of shape. Here both are told as
far as they can be: the rules about a block are asked as soon as that block can be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from aviso_all_in_one.files.declaration import configured_schemas, with_lines
from aviso_core.plain.decode import decode
from aviso_core.settings import refusals
from aviso_core.settings.environment import PREFIX, overrides
from aviso_core.settings.loader import merge
from aviso_core.settings.model import Application, Auth, Logging, NotificationBackend, Settings
from aviso_core.startup import startup_faults, stream_facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from aviso_all_in_one.files.document import Document
    from aviso_all_in_one.files.finding import Finding
    from aviso_core.errors import Fault

# Blocks with rules that ask about nothing else.
_BLOCKS: Final[Mapping[str, tuple[Any, Any]]] = {
    "application": (Application, refusals.application_faults),
    "notification_backend": (NotificationBackend, refusals.backend_faults),
    "auth": (Auth, refusals.auth_faults),
    "logging": (Logging, refusals.logging_faults),
}


def configuration_findings(document: Document, environ: Mapping[str, str]) -> list[Finding]:
    """Return every fault of a configuration, in the order of its lines; first those that no line has made."""
    from_environment, wrong_names = overrides(Settings, environ)
    values = merge([document.mapping, from_environment])
    variables = _variables(environ)
    findings = [replace(finding, line=None) for finding in with_lines(document, wrong_names)]
    for finding in with_lines(document, _faults(values)):
        variable = variables.get(finding.path)
        findings.append(finding if variable is None else _set_by(finding, variable))
    return sorted(findings, key=lambda finding: finding.line or 0)


def _faults(values: Mapping[str, object]) -> Iterable[Fault]:
    schemas, schema_faults = configured_schemas(values)
    settings, faults = decode(Settings, values)
    if settings is None:
        return [*faults, *_faults_of_readable_blocks(values), *schema_faults]
    streams = [stream_facts(schema) for schema in schemas]
    return startup_faults(settings, streams=streams, schema_faults=schema_faults)


def _faults_of_readable_blocks(values: Mapping[str, object]) -> Iterator[Fault]:
    for name, (kind, rules) in _BLOCKS.items():
        block, _ = decode(kind, values.get(name) or {}, path=name)
        if block is not None:
            yield from rules(block)


def _variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the name of the variable that sets each path."""
    return {
        name[len(PREFIX) :].lower().replace("__", "."): name
        for name in sorted(environ, reverse=True)
        if name.upper().startswith(PREFIX)
    }


def _set_by(finding: Finding, variable: str) -> Finding:
    return replace(
        finding, line=None, message=f"{finding.message}, as the environment variable {variable} sets it"
    )
