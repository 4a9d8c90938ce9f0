"""The arguments that jobs have in common, and how they are told in `--help`."""

from __future__ import annotations

import difflib
import os
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from typing import TYPE_CHECKING, Any, Final

from aviso_spark.common.exit_codes import ExitCode
from aviso_spark.common.problems import NotUnderstood
from aviso_spark.common.service import ServiceAddress
from pyspark_aviso.credentials import FILE_VARIABLE, TOKEN_VARIABLE
from pyspark_aviso.options import read_options

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

URL_VARIABLE: Final = "AVISO_URL"


class Formatter(RawDescriptionHelpFormatter):
    """Help that is as wide everywhere, with its examples as they were written."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=110)


class Parser(ArgumentParser):
    """A parser whose refusals are one line, with the nearest name there is for one that there is not."""

    def error(self, message: str) -> NoReturn:
        """Refuse a command line."""
        what, colon, given = message.partition("unrecognized arguments: ")
        if colon and not what:
            first = given.split()[0]
            message = f"there is no argument {first}{self._nearest(first)}"
        self.exit(ExitCode.NOT_UNDERSTOOD, f"{self.prog}: {message}; see '{self.prog} --help'\n")

    def _nearest(self, given: str) -> str:
        name = given.partition("=")[0]
        near = difflib.get_close_matches(name, sorted(self._known()), n=1)
        return f": did you mean {near[0]}?" if near and name.startswith("-") else ""

    def _known(self) -> set[str]:
        """Return the options of this parser and of those of its jobs: what is left over is refused by the first."""
        known = set(self._option_string_actions)
        for action in self._actions:
            for job in action.choices.values() if isinstance(action.choices, dict) else ():
                known |= job._known()
        return known


def add_common(parser: ArgumentParser, *, environ: Mapping[str, str] = os.environ) -> None:
    """Add what every job takes."""
    url = environ.get(URL_VARIABLE)
    service = parser.add_argument_group(
        "service", f"A token is taken from {TOKEN_VARIABLE}, or from a file: it is never an argument."
    )
    service.add_argument(
        "--url",
        default=url,
        help=f"its address, as http://host:port; or {URL_VARIABLE}. What reads an archive alone needs none",
    )
    service.add_argument(
        "--token-file", metavar="FILE", help=f"a mounted file with a token; or {FILE_VARIABLE}"
    )
    service.add_argument("--ca-file", metavar="FILE", help="who is trusted to sign its certificate")
    service.add_argument(
        "--deadline-seconds",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="how long one request is repeated while the service is away (default 60)",
    )
    spark = parser.add_argument_group("Spark")
    spark.add_argument(
        "--master", help="where it runs: local[2], spark://…; as spark-submit says it otherwise"
    )
    spark.add_argument(
        "--conf",
        type=key_value,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of the session",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="read and check everything; send and write nothing"
    )
    parser.add_argument("--report", metavar="FILE", help="write the report at the end as JSON, too")


def service_of(read: Mapping[str, Any]) -> ServiceAddress:
    """Return the service that a command line names, or say that it names none."""
    if read["url"] is None:
        raise NotUnderstood(f"say where the service is, with --url or {URL_VARIABLE}")
    address = ServiceAddress(
        url=read["url"],
        token_file=read["token_file"],
        ca_file=read["ca_file"],
        deadline_seconds=read["deadline_seconds"],
    )
    # What is no address or no time is said at once, and not after a session has begun.
    read_options(address.options(), "read")
    return address


def key_value(text: str) -> tuple[str, str]:
    """Return both sides of `KEY=VALUE`; further equals signs belong to the value."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise ArgumentTypeError(f"'{text}' is not KEY=VALUE")
    return key, value
