"""The command line of the operator: what it watches, how patient it is, and where it tells of itself.

Flags go before variables. How the broker is reached, and what streams are like by default, is not here: the operator
reads the configuration that the services read, so that both mean the same installation.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from aviso_core.settings.log_level import LEVELS
from aviso_operator import teaching

if TYPE_CHECKING:
    from argparse import _SubParsersAction
    from collections.abc import Mapping, Sequence

PREFIX: Final = "AVISO_OPERATOR_"
EVERYWHERE: Final = "*"
_HIGHEST_PORT: Final = 65_535
_NAMESPACE: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)


class Watched(msgspec.Struct, frozen=True):
    """Which namespaces are ours. None stands for all of the cluster."""

    namespaces: tuple[str, ...] | None

    def has(self, namespace: str) -> bool:
        """Tell whether a namespace is among them."""
        return self.namespaces is None or namespace in self.namespaces

    def __str__(self) -> str:
        """Return it as words."""
        return "all namespaces" if self.namespaces is None else ", ".join(self.namespaces)


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """Run the operator."""

    watched: Watched
    host: str = "0.0.0.0"  # noqa: S104 (a pod is asked for its health from outside)
    port: int = 8080
    resync_seconds: float = 300.0
    withdrawal_seconds: float = 60.0
    log_level: str | None = None


class ReleaseFinalizers(msgspec.Struct, frozen=True, kw_only=True):
    """Let go of every object that waits for an operator."""

    watched: Watched


class PrintCrd(msgspec.Struct, frozen=True):
    """Print the resource definition."""


class ShowVersion(msgspec.Struct, frozen=True):
    """Print the version."""


Wanted: TypeAlias = Run | ReleaseFinalizers | PrintCrd | ShowVersion


def parse(arguments: Sequence[str], environ: Mapping[str, str]) -> Wanted:
    """Return what is wanted, or leave as argparse does: help with exit code 0, a refusal with 2."""
    parser = _parser(environ)
    read = parser.parse_args(arguments)
    match read.command:
        case "run":
            host, port = read.listen
            return Run(
                watched=_watched(parser, read.namespace, read.all_namespaces, environ),
                host=host,
                port=port,
                resync_seconds=read.resync_seconds,
                withdrawal_seconds=read.withdrawal_seconds,
                log_level=read.log_level,
            )
        case "release-finalizers":
            return ReleaseFinalizers(watched=_watched(parser, read.namespace, read.all_namespaces, environ))
        case "crd":
            return PrintCrd()
        case _:
            return ShowVersion()


def help_texts() -> dict[str, str]:
    """Return the help of each command by its name, in the order in which they are listed."""
    top = _parser({})
    (commands,) = (action.choices for action in top._actions if isinstance(action.choices, dict))
    return {parser.prog: parser.format_help() for parser in (top, *commands.values())}


class _Formatter(RawDescriptionHelpFormatter):
    """Help as wide as the reference page, whatever the terminal: a terminal that is narrower wraps it."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=112)


def _parser(environ: Mapping[str, str]) -> ArgumentParser:
    parser = ArgumentParser(
        prog="aviso-operator",
        description=teaching.DESCRIPTION,
        epilog=teaching.MORE,
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="COMMAND", title="commands", required=True, dest="command")
    _add_run(_command(commands, "run", "run until told to stop", teaching.RUN), environ)
    release = _command(
        commands,
        "release-finalizers",
        "take the operator's finalizer off all objects, so that they can go without it",
        teaching.RELEASE,
    )
    _add_namespaces(release)
    _command(commands, "crd", "print the resource definition", teaching.CRD)
    _command(commands, "version", "print the version", teaching.VERSION)
    return parser


def _command(
    commands: _SubParsersAction[ArgumentParser], name: str, short: str, description: str
) -> ArgumentParser:
    return commands.add_parser(
        name, help=short, description=description, formatter_class=_Formatter, allow_abbrev=False
    )


def _add_run(run: ArgumentParser, environ: Mapping[str, str]) -> None:
    _add_namespaces(run)
    run.add_argument(
        "--listen",
        type=_address,
        metavar="HOST:PORT",
        default=environ.get(f"{PREFIX}LISTEN") or "0.0.0.0:8080",
        help="where /healthz, /readyz and /metrics are answered (%(default)s); port 0 takes a free one",
    )
    run.add_argument(
        "--resync-seconds",
        type=_seconds,
        metavar="N",
        default=environ.get(f"{PREFIX}RESYNC_SECONDS") or "300",
        help="how often everything is looked at again, more or less (%(default)s)",
    )
    run.add_argument(
        "--withdrawal-seconds",
        type=_seconds,
        metavar="N",
        default=environ.get(f"{PREFIX}WITHDRAWAL_SECONDS") or "60",
        help="how long services are waited for before a stream is deleted (%(default)s)",
    )
    run.add_argument(
        "--log-level",
        type=str.lower,
        choices=LEVELS,
        metavar="LEVEL",
        help=f"one of {', '.join(LEVELS)}; else what the configuration says (logging.level)",
    )


def _add_namespaces(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("which objects")
    group.add_argument(
        "--namespace", action="append", metavar="NAME", help="those of a namespace; may be given again"
    )
    group.add_argument("--all-namespaces", action="store_true", help="those of the whole cluster")


def _watched(
    parser: ArgumentParser, named: Sequence[str] | None, is_all: bool, environ: Mapping[str, str]
) -> Watched:
    if is_all and named:
        parser.error("give --namespace or --all-namespaces, not both")
    if is_all:
        return Watched(None)
    variable = environ.get(f"{PREFIX}NAMESPACES", "")
    names = [name for name in map(str.strip, named or variable.split(",")) if name]
    if not names:
        parser.error(
            f"which namespaces? Give --namespace NAME or --all-namespaces, or set {PREFIX}NAMESPACES"
        )
    if names == [EVERYWHERE] and not named:
        return Watched(None)
    for name in names:
        if not _NAMESPACE.fullmatch(name):
            parser.error(f"'{name}' is no name of a namespace; for the whole cluster give --all-namespaces")
    return Watched(tuple(dict.fromkeys(names)))


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not (colon and port.isascii() and port.isdigit() and int(port) <= _HIGHEST_PORT):
        raise ArgumentTypeError(f"'{text}' is no address; write it such as 0.0.0.0:8080")
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104 (as above)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise ArgumentTypeError(f"'{text}' is no number of seconds; write it such as 300")
    return seconds
