"""The files that a job keeps itself are looked at before anything is posted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from aviso_spark.command import main
from aviso_spark.common.kept_files import replace_file

if TYPE_CHECKING:
    from pathlib import Path

ASKED = ("batch-notify", "in.csv", "--event-type", "t", "--receipts", "r", "--url", "http://127.0.0.1:9")
FILES = {
    "s3a://bucket/mark": "knows no file systems of Spark: name the path of a file on this machine",
    "file:/tmp/mark": "knows no file systems of Spark: name the path of a file on this machine",
    "{here}/missing/mark": "there is no folder {here}/missing: make it, or name another file",
    "{here}": "is a folder: name a file in it",
}


@pytest.mark.parametrize("argument", ["--watermark", "--report"])
@pytest.mark.parametrize("file", FILES)
def test_a_file_that_could_not_be_written_is_refused_with_its_argument(
    argument: str, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would be written at the end, when everything was posted."""
    place = file.format(here=tmp_path)
    column = ("--watermark-column", "c") if argument == "--watermark" else ()
    assert main([*ASKED, argument, place, *column]) == 2
    told = capsys.readouterr().err
    assert f"{argument} {place}" in told
    assert FILES[file].format(here=tmp_path) in told


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """Nothing is left beside it."""
    for data in (b"1", b"22"):
        replace_file(str(tmp_path / "mark"), data)
        assert (tmp_path / "mark").read_bytes() == data
    assert [path.name for path in tmp_path.iterdir()] == ["mark"]
