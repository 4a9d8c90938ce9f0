"""`avisod schema diff FILE --live`: what applying manifests would change of what there is on the broker."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, TextIO

import msgspec

from aviso_all_in_one.command.check import finding_lines
from aviso_all_in_one.command.printing import printable
from aviso_all_in_one.command.serve import WITHOUT_FILES, backend_at, reasons
from aviso_all_in_one.files.declared import declarations_of
from aviso_all_in_one.files.finding import Finding
from aviso_all_in_one.live.asked import asked_of
from aviso_all_in_one.live.preview import Preview, preview
from aviso_all_in_one.live.shown import live_lines
from aviso_all_in_one.live.sight import Wish, look
from aviso_core.clock import SystemClock
from aviso_core.errors import AvisoError, Fault, SettingsError
from aviso_core.eventlog.open import stream_defaults
from aviso_core.schema.stream import wanted_stream
from aviso_core.settings.loader import load
from aviso_core.settings.refusals import backend_faults

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aviso_all_in_one.command.wanted import SchemaLive
    from aviso_all_in_one.live.asked import Asked
    from aviso_all_in_one.live.sight import Look
    from aviso_core.schema.stream import StreamConfiguration, StreamDefaults
    from aviso_core.settings.model import JetStream


class LiveDifference(msgspec.Struct, frozen=True, kw_only=True):
    """What `--json` writes: whether all could be applied without harm, and each manifest."""

    harmless: bool
    event_types: tuple[Preview, ...]


def run(
    wanted: SchemaLive,
    *,
    environ: Mapping[str, str],
    out: TextIO,
    err: TextIO,
    look_around: Look | None = None,
) -> int:
    """Compare with what is live and return the exit code."""
    asked, findings = _asked(wanted)
    if findings:
        for finding in findings:
            err.writelines(finding_lines(finding))
        return 2
    try:
        jetstream = _broker(wanted, environ)
        difference = _difference(jetstream, asked, look_around or partial(look, clock=SystemClock()))
    except (AvisoError, ExceptionGroup) as error:
        told = reasons(error)
        if not told:
            raise
        err.writelines(f"avisod: {printable(reason)}\n" for reason in told)
        return 2
    if wanted.json:
        out.write(msgspec.json.format(msgspec.json.encode(difference)).decode() + "\n")
    else:
        out.writelines(f"{printable(line)}\n" for line in live_lines(difference.event_types))
    return 0 if difference.harmless else 1


def _asked(wanted: SchemaLive) -> tuple[list[Asked], list[Finding]]:
    declarations, findings = declarations_of(wanted.path)
    findings += [
        Finding(
            file=declaration.document.source.name,
            message="is a configuration, which nobody applies",
            remedy="make manifests of it first: avisod schema import",
        )
        for declaration in declarations
        if declaration.document.kind == "configuration"
    ]
    if findings:
        return [], findings
    return [asked_of(declaration, namespace=wanted.namespace) for declaration in declarations], []


def _broker(wanted: SchemaLive, environ: Mapping[str, str]) -> JetStream:
    """Return how the broker of the settings is reached and what its streams are like, or raise `SettingsError`."""
    backend = backend_at(wanted.log)
    settings = load(
        environ,
        config_file=wanted.config,
        without_files=WITHOUT_FILES,
        overriding={"notification_backend": backend} if backend else {},
    )
    faults = list(backend_faults(settings.notification_backend))
    if not faults and settings.notification_backend.kind != "jetstream":
        faults.append(
            Fault(
                path="notification_backend.kind",
                message=f"is {settings.notification_backend.kind}: nothing is live but in the service itself",
                remedy="name the configuration of the services with --config, or the broker with --log nats://…",
            )
        )
    if faults:
        raise SettingsError(faults)
    return settings.notification_backend.jetstream


def _difference(jetstream: JetStream, asked: Sequence[Asked], look_around: Look) -> LiveDifference:
    defaults = stream_defaults(jetstream)
    wishes = [_wish(one, _stream(one, defaults)) for one in asked]
    sight = asyncio.run(look_around(jetstream, wishes))
    previews = tuple(preview(one, sight, defaults) for one in asked)
    return LiveDifference(harmless=all(one.is_harmless for one in previews), event_types=previews)


def _stream(asked: Asked, defaults: StreamDefaults) -> StreamConfiguration:
    return wanted_stream(asked.schema, defaults)


def _wish(asked: Asked, stream: StreamConfiguration) -> Wish:
    return Wish(base=asked.schema.base, max_age_seconds=stream.max_age_seconds)
