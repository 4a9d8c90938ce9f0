"""The commands of the chart's pods: wait until everything is ready; send an event all the way round; stamp a disk."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from aviso_core.errors import AvisoError
from aviso_operator.installation.stamp import claim_for

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping, Sequence

    import urllib3

    from aviso_operator.installation.readiness import WhyNot
    from aviso_operator.installation.round_trip import RoundTrip

_TOKEN_FILE = "AVISO_TOKEN_FILE"  # noqa: S105 (the name of a variable)


class Address(NamedTuple):
    """Where a part says whether it is ready."""

    name: str
    url: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for, say how it went, and return the exit code."""
    read = _parser().parse_args(sys.argv[1:] if arguments is None else arguments)
    try:
        if read.command == "stamp":
            claim_for(read.file, servers=read.count)
        else:
            _look(read, os.environ)
    except AvisoError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _look(read: Namespace, environ: Mapping[str, str]) -> None:
    # A stamp is wanted before each start of a broker, and needs none of this.
    import urllib3

    from aviso_operator.installation.readiness import wait_ready

    with urllib3.PoolManager(retries=False) as http:
        if read.command == "ready":
            wait_ready(_parts(read, http), seconds=read.seconds, tell=_tell)
        else:
            _round_trip(read, http, environ).run()


def _parts(read: Namespace, http: urllib3.PoolManager) -> dict[str, WhyNot]:
    from aviso_operator.installation.readiness import why_not_answering

    parts: dict[str, WhyNot] = {
        address.name: partial(why_not_answering, http, address.url) for address in read.addresses
    }
    if read.workload:
        from aviso_operator.installation.objects import ApiServer
        from aviso_operator.installation.workloads import why_not_rolled_out
        from aviso_operator.login import find_cluster

        server = ApiServer(find_cluster(connections=1))
        parts |= {
            workload: partial(why_not_rolled_out, server, read.namespace, workload)
            for workload in read.workload
        }
    return parts


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _round_trip(read: Namespace, http: urllib3.PoolManager, environ: Mapping[str, str]) -> RoundTrip:
    from aviso_operator.installation.round_trip import RoundTrip, Service, Trial, Who
    from aviso_operator.login import find_cluster

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
    ready.add_argument("--namespace", default="default", help="where the workloads are (default)")
    ready.add_argument(
        "--workload",
        action="append",
        default=[],
        metavar="PLURAL/NAME",
        help="wait until all pods of it are new ones as well, such as deployments/aviso-ingest; as often as wanted",
    )
    trip = commands.add_parser(
        "round-trip", help="declare an event type, publish, receive, and remove it again"
    )
    trip.add_argument("--publish-at", required=True, metavar="URL", help="where notifications are taken")
    trip.add_argument("--watch-at", required=True, metavar="URL", help="where streams are served")
    trip.add_argument("--namespace", required=True, help="where the event type is declared")
    trip.add_argument("--name", required=True, help="what it is called")
    trip.add_argument("--realm", help="whose tokens may publish and read it; without, everybody may")
    trip.add_argument("--role", help="the role of that realm that may")
    stamp = commands.add_parser("stamp", help="write on a disk how many servers it is of, or compare")
    stamp.add_argument("--file", type=Path, required=True, help="where that is written")
    stamp.add_argument("--count", type=int, required=True, help="how many servers there are")
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
