"""A service's own command, `python -m aviso_ingest`: settings from files and environment, then the service.

It has no arguments, because what runs in a cluster is configured by files and environment; `avisod` is the one to type.
"""

from __future__ import annotations

import asyncio
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING

import uvloop

from aviso_core.errors import AvisoError
from aviso_core.settings.loader import load
from aviso_http.process import run
from aviso_http.signals import told_to_stop

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aviso_http.process import Assemble

_HELP = """usage: python -m {module}

Runs the service {name} until it is told to stop (SIGTERM, Ctrl-C).

It takes no arguments. The configuration is read from ./configuration/config.yaml, /etc/aviso_server/config.yaml and
$HOME/.aviso_server/config.yaml, the later one winning, or from the one file that AVISOSERVER_CONFIG_FILE names.
Variables such as AVISOSERVER_APPLICATION__PORT=8000 override single values. `avisod check FILE` tells what is wrong
with a file.
"""


def main(
    assemble: Assemble, *, name: str, module: str, arguments: list[str], environ: Mapping[str, str]
) -> int:
    """Run a service and return the exit code."""
    if arguments:
        is_help = arguments[0] in ("-h", "--help")
        out = sys.stdout if is_help else sys.stderr
        out.write(_HELP.format(name=name, module=module))
        return 0 if is_help else 2
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(assemble, name=name, environ=environ))
    except AvisoError as error:
        sys.stderr.writelines(f"{module}: {reason}\n" for reason in str(error).splitlines())
        return 1
    return 0


async def _serve(assemble: Assemble, *, name: str, environ: Mapping[str, str]) -> None:
    with told_to_stop() as stop:
        await run(
            load(environ),
            assemble=assemble,
            service=name.removeprefix("aviso-"),
            environ=environ,
            version=version(name),
            stop=stop,
            on_ready=lambda port: None,
        )
