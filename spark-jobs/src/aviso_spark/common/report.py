"""What a job did, for people to read and for programs to keep.

A report is a value: jobs return it, the command prints it, writes it as JSON where it was asked to, and takes the exit
code from it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from aviso_spark.common.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Sequence

# What moves a cursor, ends a line, or turns the direction of writing.
_CONTROLS: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something to look at: how often it was seen, and what it is."""

    count: int
    what: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a job did."""

    job: str
    seconds: float = 0.0
    counts: dict[str, int] = {}
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    is_dry_run: bool = False

    @property
    def exit_code(self) -> ExitCode:
        """Findings ask to be looked at; there is nothing else that a job which came to its end could say."""
        return ExitCode.FINDINGS if self.findings else ExitCode.DONE


def as_text(report: Report) -> str:
    """Return a report for a terminal or a log."""
    how = "dry run, nothing was sent or written" if report.is_dry_run else "done"
    lines = [f"{report.job}: {how}, {report.seconds:.1f} s", *_counts(report.counts)]
    if report.findings:
        lines += ["to look at:", *_findings(report.findings)]
    return "".join(one_line(line) + "\n" for line in [*lines, *report.notes])


def one_line(text: str) -> str:
    """Return a text that may be a producer's as one line that does nothing to a terminal but be shown."""
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _counts(counts: dict[str, int]) -> list[str]:
    widest = max(map(len, counts), default=0)
    return [f"  {name:<{widest}}  {count:>13,}" for name, count in counts.items()]


def _findings(findings: Sequence[Finding]) -> list[str]:
    return [f"  {finding.count:>9,} × {finding.what}" for finding in findings]


def as_json(report: Report) -> bytes:
    """Return a report for a program: one object, with the exit code."""
    return (
        msgspec.json.format(
            msgspec.json.encode(msgspec.to_builtins(report) | {"exit_code": report.exit_code})
        )
        + b"\n"
    )
