"""A command line → what is wanted, or argparse's own way out: help with exit code 0, a refusal with 2."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from typing import TYPE_CHECKING, Any, Final

import msgspec

from aviso_all_in_one.command import teaching
from aviso_all_in_one.command.wanted import (
    Check,
    SchemaDiff,
    SchemaImport,
    SchemaLive,
    Serve,
    ShowVersion,
    Wanted,
)
from aviso_core.settings.log_level import LEVELS

if TYPE_CHECKING:
    from argparse import _SubParsersAction
    from collections.abc import Sequence

MEMORY: Final = "memory"
_BROKER_SCHEMES: Final = ("nats://", "tls://", "ws://", "wss://")
_HIGHEST_PORT: Final = 65_535


class _Formatter(RawDescriptionHelpFormatter):
    """Help as wide as the reference page, whatever the terminal: a terminal that is narrower wraps it."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=112)


def parse(arguments: Sequence[str]) -> Wanted:
    """Return what a command line asks for."""
    read = vars(_parser().parse_args(arguments))
    kind: type[Wanted] = read.pop("wanted")
    if kind is SchemaDiff:
        return _diff(read)
    return msgspec.convert(read, type=kind)


def _diff(read: dict[str, Any]) -> SchemaDiff | SchemaLive:
    """Return which of both comparisons is meant: one place with the other, or with what is live."""
    parser: ArgumentParser = read["parser"]
    settings = {name: read[name] for name in ("config", "log", "namespace")}
    if read["live"]:
        if read["new"] is not None:
            parser.error("--live compares one place with what is live: leave NEW out")
        return SchemaLive(path=read["old"], json=read["json"], **settings)
    if read["new"] is None:
        parser.error("name NEW as well, or --live to compare with what is live")
    for name, value in settings.items():
        if value is not None:
            parser.error(f"--{name} goes with --live")
    return SchemaDiff(old=read["old"], new=read["new"], json=read["json"])


def help_texts() -> dict[str, str]:
    """Return the help of each command by its name, in the order in which they are listed."""
    top = _parser()
    return {top.prog: top.format_help(), **_help_below(top)}


def _help_below(parser: ArgumentParser) -> dict[str, str]:
    texts: dict[str, str] = {}
    for action in parser._subparsers._group_actions if parser._subparsers else ():
        assert isinstance(action.choices, dict)
        for inner in action.choices.values():
            texts |= {inner.prog: inner.format_help(), **_help_below(inner)}
    return texts


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="avisod",
        description=teaching.AVISOD,
        epilog=teaching.AVISOD_MORE,
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="COMMAND", title="commands", required=True)
    _add_serve(commands)
    _add_check(commands)
    _add_schema(commands)
    version = _command(commands, "version", "print the version", teaching.VERSION, "")
    version.set_defaults(wanted=ShowVersion)
    return parser


def _command(
    commands: _SubParsersAction[ArgumentParser], name: str, summary: str, description: str, more: str
) -> ArgumentParser:
    return commands.add_parser(
        name,
        help=summary,
        description=description,
        epilog=more,
        formatter_class=_Formatter,
        allow_abbrev=False,
    )


def _add_serve(commands: _SubParsersAction[ArgumentParser]) -> None:
    serve = _command(commands, "serve", "run the service", teaching.SERVE, teaching.SERVE_MORE)
    serve.set_defaults(wanted=Serve)
    serve.add_argument("--config", metavar="FILE", help="the configuration file, instead of the usual three")
    event_types = serve.add_mutually_exclusive_group()
    event_types.add_argument("--schemas", metavar="DIR", help="a folder of EventSchema manifests to follow")
    event_types.add_argument("--samples", action="store_true", help="serve the three sample event types")
    serve.add_argument("--host", type=_host, metavar="HOST", help="address to listen on")
    serve.add_argument("--port", type=_port, metavar="N", help="port to listen on; 0 takes a free one")
    serve.add_argument(
        "--log",
        type=_log,
        metavar="memory|nats://…",
        help="where events are kept: in this process, or by the broker at this address",
    )
    serve.add_argument(
        "--metrics-port", type=_port, metavar="N", help="serve metrics for Prometheus, on this port"
    )
    serve.add_argument(
        "--log-level", type=str.lower, choices=LEVELS, metavar="LEVEL", help=f"one of {', '.join(LEVELS)}"
    )


def _add_check(commands: _SubParsersAction[ArgumentParser]) -> None:
    check = _command(
        commands,
        "check",
        "tell every fault of configurations and event types",
        teaching.CHECK,
        teaching.CHECK_MORE,
    )
    check.set_defaults(wanted=Check)
    check.add_argument("paths", nargs="+", metavar="FILE", help="a file, or a folder of them")
    check.add_argument("--json", action="store_true", help="write one JSON document instead of lines")


def _add_schema(commands: _SubParsersAction[ArgumentParser]) -> None:
    schema = _command(
        commands, "schema", "compare event types, and import them", teaching.SCHEMA, teaching.SCHEMA_MORE
    )
    below = schema.add_subparsers(metavar="COMMAND", title="commands", required=True)
    diff = _command(below, "diff", "tell what changed, and what breaks", teaching.DIFF, teaching.DIFF_MORE)
    diff.set_defaults(wanted=SchemaDiff, parser=diff)
    diff.add_argument("old", metavar="OLD", help="what is in force; with --live, what would be applied")
    diff.add_argument("new", metavar="NEW", nargs="?", help="what would replace it")
    diff.add_argument("--json", action="store_true", help="write one JSON document instead of a table")
    live = diff.add_argument_group("comparing with what is live")
    live.add_argument("--live", action="store_true", help="tell what applying OLD would change on the broker")
    live.add_argument("--config", metavar="FILE", help="the configuration of the services, as for serve")
    live.add_argument("--log", type=_broker, metavar="nats://…", help="the broker at this address")
    live.add_argument("--namespace", metavar="NAME", help="where manifests go that do not name one")
    _add_import(below)


def _add_import(commands: _SubParsersAction[ArgumentParser]) -> None:
    importing = _command(
        commands, "import", "make manifests of a configuration", teaching.IMPORT, teaching.IMPORT_MORE
    )
    importing.set_defaults(wanted=SchemaImport)
    importing.add_argument("path", metavar="FILE", help="a configuration with a notification_schema")
    importing.add_argument(
        "--output",
        metavar="DIR|-",
        default="-",
        help="a folder, for one file for each event type; - is standard output (the default)",
    )
    importing.add_argument(
        "--adopt", action="store_true", help="let the manifests take over the streams that there are"
    )
    importing.add_argument("--json", action="store_true", help="write one JSON document instead of YAML")


def _host(text: str) -> str:
    if not text.strip():
        raise ArgumentTypeError("is empty; write an address such as 127.0.0.1")
    return text


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= _HIGHEST_PORT):
        raise ArgumentTypeError(f"'{text}' is not a port; write a number from 0 to {_HIGHEST_PORT}")
    return int(text)


def _broker(text: str) -> str:
    if not text.startswith(_BROKER_SCHEMES):
        raise ArgumentTypeError("write the broker's address such as nats://localhost:4222")
    return text


def _log(text: str) -> str:
    # An address may carry a password, so what is refused is not repeated.
    if text != MEMORY and not text.startswith(_BROKER_SCHEMES):
        raise ArgumentTypeError(f"write {MEMORY}, or the broker's address such as nats://localhost:4222")
    return text
