"""`avisod serve`: flags, files and environment → settings; then the service, until somebody stops it.

What runs is handed in (`Run`), because putting the parts of the service together is another idea than finding out
which ones are wanted. How it tells that it is ready is handed to it, because it alone knows on which port it listens.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any, Final, Protocol, TextIO

from aviso_all_in_one.command.arguments import MEMORY
from aviso_all_in_one.command.printing import printable
from aviso_all_in_one.greeting import UNDECLARED, greeting
from aviso_all_in_one.sample import SAMPLES_FOLDER, sample_examples
from aviso_core.errors import AvisoError, Faulty
from aviso_core.settings.loader import load

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from aviso_all_in_one.command.wanted import Serve
    from aviso_all_in_one.sample import Example
    from aviso_core.settings.model import Settings

# Enough to look back at while trying things out; a configuration that says nothing keeps one event of each topic.
_TRIAL_HISTORY: Final = 10_000
WITHOUT_FILES: Final[Mapping[str, object]] = {
    "application": {"host": "127.0.0.1", "port": 8000},
    "notification_backend": {
        "kind": "in_memory",
        "in_memory": {"max_history_per_topic": _TRIAL_HISTORY},
    },
}


class Run(Protocol):
    """Runs the service until a signal tells it to stop, and returns when it has stopped in good order.

    `on_ready` is called once, as soon as requests are answered, with the port that is listened on. What keeps it from
    starting is raised as `AvisoError`.
    """

    def __call__(self, settings: Settings, *, on_ready: Callable[[int], None]) -> Coroutine[Any, Any, None]:
        """Run."""
        ...


def settings_for(wanted: Serve, environ: Mapping[str, str]) -> Settings:
    """Return the settings to start with, or raise `SettingsError`."""
    if wanted.log_level is not None:
        # RUST_LOG overrides what settings say, and a flag overrides it.
        environ = {name: value for name, value in environ.items() if name != "RUST_LOG"}
    return load(
        environ, config_file=wanted.config, without_files=WITHOUT_FILES, overriding=overriding(wanted)
    )


def overriding(wanted: Serve) -> dict[str, object]:
    """Return the settings that flags make, as a file would have them."""
    blocks: dict[str, dict[str, object]] = {
        "application": _given(host=wanted.host, port=wanted.port),
        "logging": _given(level=wanted.log_level),
        "metrics": {} if wanted.metrics_port is None else {"enabled": True, "port": wanted.metrics_port},
        "notification_backend": backend_at(wanted.log),
        "registry": _registry(str(SAMPLES_FOLDER) if wanted.samples else wanted.schemas),
    }
    return {name: block for name, block in blocks.items() if block}


def _given(**values: object) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}


def backend_at(log: str | None) -> dict[str, object]:
    """Return the settings of the log that `--log` names."""
    if log is None:
        return {}
    if log == MEMORY:
        return {"kind": "in_memory"}
    return {"kind": "jetstream", "jetstream": {"nats_url": log}}


def _registry(folder: str | None) -> dict[str, object]:
    return {} if folder is None else {"kind": "folder", "folder": folder}


# --- running ----------------------------------------------------------------------------------------------


def run(wanted: Serve, *, environ: Mapping[str, str], service: Run, err: TextIO) -> int:
    """Run the service and return the exit code."""
    try:
        settings = settings_for(wanted, environ)
        greet = _greeter(wanted, settings, err)
        _run_until_stopped(service(settings, on_ready=greet))
    except KeyboardInterrupt:
        # Ctrl-C before the service could take care of it: whoever is at the keyboard got what was asked for.
        return 0
    except (AvisoError, ExceptionGroup) as error:
        told = reasons(error)
        if not told:
            raise
        err.writelines(f"avisod: {printable(reason)}\n" for reason in told)
        return 1
    return 0


def _run_until_stopped(service: Coroutine[Any, Any, None]) -> None:
    if sys.platform == "win32":
        asyncio.run(service)
    else:
        import uvloop

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(service)


def _greeter(wanted: Serve, settings: Settings, err: TextIO) -> Callable[[int], None]:
    """Return what greets: somebody at a terminal or with samples. A log collector has no use for it."""

    def greet(port: int) -> None:
        if wanted.samples or err.isatty():
            err.write(greeting(settings, port=port, examples=_examples(wanted, settings)))
            err.flush()

    return greet


def _examples(wanted: Serve, settings: Settings) -> Sequence[Example]:
    if wanted.samples:
        return sample_examples()
    is_declared = settings.registry.kind != "memory" or settings.notification_schema
    return () if is_declared or settings.notification_schema_strict else (UNDECLARED,)


def reasons(error: BaseException) -> list[str]:
    """Return what keeps a command from its work, line by line; nothing where some of it is a bug."""
    match error:
        case BaseExceptionGroup():
            several = [reasons(inner) for inner in error.exceptions]
            return [reason for told in several for reason in told] if all(several) else []
        case Faulty():
            return [str(fault) for fault in error.faults]
        case AvisoError():
            return [str(error)]
    return []
