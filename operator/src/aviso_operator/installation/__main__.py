"""The commands of the chart's jobs: wait until everything is ready; send an event all the way round."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError
from typing import TYPE_CHECKING

import urllib3

from aviso_core.errors import AvisoError
from aviso_operator.installation.readiness import Address, wait_ready
from aviso_operator.installation.round_trip import RoundTrip, Service, Trial, Who
from aviso_operator.login import find_cluster

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping, Sequence

_TOKEN_FILE = "AVISO_TOKEN_FILE"  # noqa: S105 (the name of a variable)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for, say how it went, and return the exit code."""
    read = _parser().parse_args(sys.argv[1:] if arguments is None else arguments)
    with urllib3.PoolManager(retries=False) as http:
        try:
            if read.command == "ready":
                wait_ready(http, read.addresses, seconds=read.seconds, tell=_tell)
            else:
                _round_trip(read, http, os.environ).run()
        except AvisoError as error:
            sys.stderr.write(f"{error}\n")
            return 1
    return 0


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _round_trip(read: Namespace, http: urllib3.PoolManager, environ: Mapping[str, str]) -> RoundTrip:
    who = None if read.realm is None else Who(realm=read.realm, role=read.role)
    token_file = environ.get(_TOKEN_FILE)
    return RoundTrip(
        Trial(namespace=read.namespace, name=read.name, who=who, seconds=read.seconds),
        find_cluster(connections=1),
        ingest=Service(http, read.publish_at, token_file=token_file),
        gateway=Service(http, read.watch_at, token_file=token_file),
        tell=_tell,
    )


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="python -m aviso_operator.installation", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    ready = commands.add_parser("ready", help="wait until each address answers that it is ready")
    ready.add_argument("addresses", nargs="+", type=_address, metavar="NAME=URL")
    trip = commands.add_parser(
        "round-trip", help="declare an event type, publish, receive, and remove it again"
    )
    trip.add_argument("--publish-at", required=True, metavar="URL", help="where notifications are taken")
    trip.add_argument("--watch-at", required=True, metavar="URL", help="where streams are served")
    trip.add_argument("--namespace", required=True, help="where the event type is declared")
    trip.add_argument("--name", required=True, help="what it is called")
    trip.add_argument("--realm", help="whose tokens may publish and read it; without, everybody may")
    trip.add_argument("--role", help="the role of that realm that may")
    for command in (ready, trip):
        command.add_argument(
            "--seconds", type=float, default=60.0, help="how long something is waited for (60)"
        )
    return parser


def _address(text: str) -> Address:
    name, equals, url = text.partition("=")
    if not equals:
        raise ArgumentTypeError(f"'{text}' is not NAME=URL")
    return Address(name, url)


if __name__ == "__main__":
    sys.exit(main())
