"""The command `aviso-operator`: the only place that knows arguments, environment and signals."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING, Final, assert_never

from aviso_core.errors import AvisoError, SettingsError
from aviso_core.settings.loader import load
from aviso_core.settings.refusals import backend_faults
from aviso_operator.options import PrintCrd, ReleaseFinalizers, Run, ShowVersion, parse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aviso_core.settings.model import Settings

NAME = "aviso-operator"

# The API server takes objects of ten thousand levels from whoever may write one. Whoever follows objects has to read
# each of them, and kopf copies it as well, by two calls for each level; that it is too deep is said in its status.
_DEEPEST_CALLS: Final = 30_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for and return the exit code."""
    environ = os.environ
    sys.setrecursionlimit(_DEEPEST_CALLS)
    wanted = parse(sys.argv[1:] if arguments is None else arguments, environ)
    try:
        match wanted:
            case Run():
                asyncio.run(_run(wanted, environ))
            case ReleaseFinalizers():
                asyncio.run(_release(wanted))
            case PrintCrd():
                from aviso_operator.crd.definition import definition_text

                sys.stdout.write(definition_text())
            case ShowVersion():
                sys.stdout.write(f"{NAME} {version(NAME)} on Python {platform.python_version()}\n")
            case _:
                assert_never(wanted)
    except AvisoError as error:
        sys.stderr.writelines(f"{NAME}: {reason}\n" for reason in str(error).splitlines())
        return 1
    return 0


async def _run(options: Run, environ: Mapping[str, str]) -> None:
    from prometheus_client import disable_created_metrics

    from aviso_http.records.counts import RecordCounts
    from aviso_http.records.open import open_records
    from aviso_http.records.resource import describe_process
    from aviso_operator.operator import Wiring, run

    settings = _settings(environ, options)
    resource = describe_process(environ, version=version(NAME)) | {"service.name": NAME}
    # It tells of each event that it hands over, at the level of information.
    logging.getLogger("kopf.objects").setLevel(logging.WARNING)
    disable_created_metrics()  # type: ignore[no-untyped-call]  # it brings no types
    with open_records(settings.logging, resource=resource, counts=RecordCounts()):
        wiring = Wiring(
            jetstream=settings.notification_backend.jetstream,
            version=version(NAME),
            pod=resource.get("k8s.pod.name", platform.node()),
        )
        await run(options, wiring, stop=asyncio.Event(), on_ready=lambda port: None)


# What the services' settings must have, though nothing of it is the operator's: it has streams, and answers elsewhere.
_ALWAYS: Final = {
    "application": {"host": "127.0.0.1", "port": 0},
    "notification_backend": {"kind": "jetstream"},
}


def _settings(environ: Mapping[str, str], options: Run) -> Settings:
    """Return the settings of the installation, as far as they concern the broker and logging."""
    level = {} if options.log_level is None else {"logging": {"level": options.log_level}}
    settings = load(environ, overriding={**_ALWAYS, **level})
    faults = list(backend_faults(settings.notification_backend))
    if faults:
        raise SettingsError(faults)
    return settings


async def _release(options: ReleaseFinalizers) -> None:
    from aviso_operator.cluster import open_cluster
    from aviso_operator.finalizers import release_finalizers

    async with open_cluster() as cluster:
        for key in await release_finalizers(cluster, options.watched):
            sys.stdout.write(f"released {key}\n")


if __name__ == "__main__":
    sys.exit(main())
