"""Finding the Java that Spark runs on, before Spark fails to find it in a stack trace."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aviso_spark.common.problems import JobError

if TYPE_CHECKING:
    from collections.abc import Mapping

SUPPORTED: Final = (17, 21)
REMEDY: Final = "install Java 17 or 21, and set JAVA_HOME or put java on the PATH"

_VERSION: Final = re.compile(r'version "(\d+)')
_ANSWERS_WITHIN_SECONDS: Final = 20.0


def find_java(environ: Mapping[str, str]) -> Path:
    """Return the program that Spark would start, or say in one line what is missing."""
    program = java_program(environ)
    if program is None:
        raise JobError(f"Spark needs Java, and there is none: {REMEDY}")
    version = java_version(told_version(program))
    if version not in SUPPORTED:
        said = "of a version that it does not tell" if version is None else f"Java {version}"
        raise JobError(f"Spark needs Java 17 or 21, and {program} is {said}: {REMEDY}")
    return program


def java_program(environ: Mapping[str, str]) -> Path | None:
    """Return the program by the rule of Spark's launcher: that of JAVA_HOME where it is set, else that of PATH."""
    home = environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin") if home else environ.get("PATH"))
    return None if found is None else Path(found)


def told_version(program: Path) -> str:
    """Ask the program for its version."""
    asked = subprocess.run(  # noqa: S603  the program that Spark itself starts a moment later
        [program, "-version"], capture_output=True, text=True, check=False, timeout=_ANSWERS_WITHIN_SECONDS
    )
    return asked.stderr + asked.stdout


def java_version(told: str) -> int | None:
    """Return the major version in what `java -version` says."""
    found = _VERSION.search(told)
    return None if found is None else int(found[1])
