"""Small files that the job's own program keeps, on the machine that it runs on: a watermark, a report.

They are written at the end, so whether they can be is asked at the beginning, before anything is posted.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from aviso_spark.common.problems import NotUnderstood

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def check_writable(argument: str, file: str) -> None:
    """Refuse a file that could not be written."""
    path = _path(argument, file)
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise NotUnderstood(f"{argument} {file} must not be written by this user: name another file")


def check_replaceable(argument: str, file: str) -> None:
    """Refuse a file that could not be replaced as a whole."""
    path = _path(argument, file)
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise NotUnderstood(
            f"{argument} {file}: this user must not write into {path.parent}: name a file in another folder"
        )


def _path(argument: str, file: str) -> Path:
    if _SCHEME.match(file):
        raise NotUnderstood(
            f"{argument} {file}: this file is kept by the job's own program, which knows no file systems of Spark: "
            "name the path of a file on this machine, as on a mounted volume"
        )
    path = Path(file)
    if path.is_dir():
        raise NotUnderstood(f"{argument} {file} is a folder: name a file in it")
    if not path.parent.is_dir():
        raise NotUnderstood(
            f"{argument} {file}: there is no folder {path.parent}: make it, or name another file"
        )
    return path


def replace_file(file: str, data: bytes) -> None:
    """Replace what a file has: it has the old or the new whole, also where the machine fails."""
    path = Path(file)
    new = path.with_name(f"{path.name}.new")
    with new.open("wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
    new.replace(path)
