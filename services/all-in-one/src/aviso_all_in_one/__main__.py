"""The command `avisod`: the only place that knows the arguments, the environment and the streams of the process."""

from __future__ import annotations

import os
import platform
import sys
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, TextIO, assert_never

from aviso_all_in_one.command.arguments import parse
from aviso_all_in_one.command.wanted import Check, SchemaDiff, SchemaImport, SchemaLive, Serve, ShowVersion

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aviso_all_in_one.command.serve import Run
    from aviso_all_in_one.command.wanted import Wanted
    from aviso_all_in_one.live.sight import Look

# What a shell reports of a program that wrote to a pipe which nobody reads any more.
_PIPE_CLOSED = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A message may hold any character of a file, and a terminal need not have all of them.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    wanted = parse(sys.argv[1:] if arguments is None else arguments)
    try:
        code = perform(wanted, environ=os.environ, out=sys.stdout, err=sys.stderr)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more at its end, which must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE_CLOSED
    return code


def perform(
    wanted: Wanted,
    *,
    environ: Mapping[str, str],
    out: TextIO,
    err: TextIO,
    service: Run | None = None,
    look: Look | None = None,
) -> int:
    """Do what is wanted and return the exit code.

    A service, and a look at a broker, are handed in by tests; otherwise they are the real ones.
    """
    # What one command needs is imported for that command: `check` starts no web framework.
    match wanted:
        case Serve():
            from aviso_all_in_one.command import serve

            return serve.run(wanted, environ=environ, service=service or _real_service(environ), err=err)
        case Check():
            from aviso_all_in_one.command import check

            return check.run(wanted, environ=environ, out=out, err=err)
        case SchemaDiff():
            from aviso_all_in_one.command import schema_diff

            return schema_diff.run(wanted, out=out, err=err)
        case SchemaLive():
            from aviso_all_in_one.command import schema_live

            return schema_live.run(wanted, environ=environ, out=out, err=err, look_around=look)
        case SchemaImport():
            from aviso_all_in_one.command import schema_import

            return schema_import.run(wanted, out=out, err=err)
        case ShowVersion():
            out.write(f"avisod {version('aviso-all-in-one')} on Python {platform.python_version()}\n")
            return 0
        case _:
            assert_never(wanted)


def _real_service(environ: Mapping[str, str]) -> Run:
    from aviso_all_in_one.serving import serve

    return partial(serve, environ=environ, version=version("aviso-all-in-one"))


if __name__ == "__main__":
    sys.exit(main())
