"""The arguments that jobs have in common, and how they are told in `--help`."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from typing import TYPE_CHECKING, Any, Final

from aviso_spark.common.service import ServiceAddress
from pyspark_aviso.credentials import FILE_VARIABLE, TOKEN_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

URL_VARIABLE: Final = "AVISO_URL"


class Formatter(RawDescriptionHelpFormatter):
    """Help that is as wide everywhere, with its examples as they were written."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=110)


def add_common(parser: ArgumentParser, *, environ: Mapping[str, str] = os.environ) -> None:
    """Add what every job takes."""
    url = environ.get(URL_VARIABLE)
    service = parser.add_argument_group(
        "service", f"A token is taken from {TOKEN_VARIABLE}, or from a file: it is never an argument."
    )
    service.add_argument(
        "--url",
        required=url is None,
        default=url,
        help=f"its address, as http://host:port; or {URL_VARIABLE}",
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
    """Return the service that a command line names."""
    return ServiceAddress(
        url=read["url"],
        token_file=read["token_file"],
        ca_file=read["ca_file"],
        deadline_seconds=read["deadline_seconds"],
    )


def key_value(text: str) -> tuple[str, str]:
    """Return both sides of `KEY=VALUE`; further equals signs belong to the value."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise ArgumentTypeError(f"'{text}' is not KEY=VALUE")
    return key, value
