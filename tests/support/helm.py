"""Where Helm is on this machine, and what it makes of a chart.

It is looked for in the environment of the tests, which has it where there is a package of it, then on `PATH`, then in
the cache of the kit that runs whole clusters. No cluster is asked.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

ABSENT: Final = "not on this machine: Helm"

_PATIENCE_SECONDS: Final = 60.0


class Ran(NamedTuple):
    """What came of a call."""

    code: int
    output: str
    messages: str


class Helm:
    """The program, with a home of its own: nothing that its user has set up changes what it does."""

    def __init__(self, program: Path, home: Path) -> None:
        self._program = program
        self._environ = {"HOME": str(home), "PATH": os.environ.get("PATH", "")}

    def run(self, *words: str | Path, environ: Mapping[str, str] | None = None) -> Ran:
        """Run it to its end."""
        ran = subprocess.run(
            [self._program, *words],
            env={**self._environ, **(environ or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE_SECONDS,
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)


def find_program(name: str = "helm") -> Path | None:
    """Return the program, or None where it is not to be had."""
    cache = os.environ.get("AVISO_CLUSTER_CACHE") or Path.home() / ".cache" / "aviso-cluster"
    for own in (Path(sysconfig.get_path("scripts")) / name, shutil.which(name), Path(cache) / "bin" / name):
        if own is not None and os.access(own, os.X_OK):
            return Path(own)
    return None
