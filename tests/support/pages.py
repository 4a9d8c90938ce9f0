"""Pages that ask their reader to type something: what that is, and whether what is printed is what the page shows."""

from __future__ import annotations

import re
import subprocess
import time
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE_SECONDS: Final = 20

_BLOCK: Final = re.compile(r"^```(sh|text|text elsewhere)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Step(NamedTuple):
    """What to type, what is shown below it, and what an open stream shows then; None where nothing is."""

    typed: str
    shown: str | None
    elsewhere: str | None = None


def steps(page: str) -> list[Step]:
    """Return what a page asks its reader to type."""
    found: list[Step] = []
    for language, text in _BLOCK.findall(page):
        if language == "sh":
            found.append(Step(text, None))
            continue
        assert found, "what is shown stands below what was typed"
        if language == "text":
            assert found[-1].shown is None, "what was typed is shown once"
            found[-1] = found[-1]._replace(shown=text)
        else:
            assert found[-1].elsewhere is None, "what a stream shows is shown once"
            found[-1] = found[-1]._replace(elsewhere=text)
    return found


def is_as_shown(printed: str, shown: str) -> bool:
    """Tell whether the output is what the page shows, where … stands for anything on one line."""
    pattern = re.escape(shown.strip()).replace("…", ".*")
    return re.fullmatch(pattern, printed.strip()) is not None


def type_in(step: Step, *, cwd: Path, environ: dict[str, str]) -> None:
    """Type what a page asks for, until it prints what the page shows; what was told a moment ago takes effect soon."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        ran = subprocess.run(
            ["bash", "-e", "-c", step.typed],
            check=False,
            capture_output=True,
            text=True,
            cwd=cwd,
            env=environ,
        )
        if ran.returncode == 0 and (step.shown is None or is_as_shown(ran.stdout, step.shown)):
            return
        if time.monotonic() > until:
            pytest.fail(f"{step.typed}\nprinted\n{ran.stdout}{ran.stderr}\nand the page shows\n{step.shown}")
        time.sleep(0.2)
