"""The pages about Spark are true: what they show is typed in its order, and prints what stands below it.

A page's jobs and programs run in the session that there is, because each of their own would take seconds to start it;
that they run as programs as well is tried elsewhere. All folders of a page are below `/data`, which is a folder of the
test here.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from contextlib import redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

from aviso_all_in_one.sample import SAMPLES_FOLDER
from aviso_spark.command import main
from repo.tree import ROOT
from support.pages import is_as_shown
from support.services import running_program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from pyspark.sql import SparkSession

_HOW_TO: Final = ROOT / "docs" / "how-to"
_BLOCK: Final = re.compile(r"^```(sh|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SHOWN_ADDRESS: Final = "http://127.0.0.1:8000"


class Block(NamedTuple):
    """What is typed, in which language, and what is shown below it; None where nothing is."""

    language: str
    typed: str
    shown: str | None


def blocks(page: str) -> list[Block]:
    """Return what a page asks its reader to type."""
    found: list[Block] = []
    for language, text in _BLOCK.findall(page):
        if language == "text":
            found[-1] = found[-1]._replace(shown=text)
        else:
            found.append(Block(language, text, None))
    return found


class Reader:
    """Who types what a page shows."""

    def __init__(self, url: str, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._url = url
        self.data = data
        self._monkeypatch = monkeypatch
        self._names: dict[str, Any] = {}

    def follow(self, name: str) -> None:
        """Type all of a page, and compare what it prints."""
        for block in blocks(self._here((_HOW_TO / name).read_text(encoding="utf-8"))):
            printed = StringIO()
            with redirect_stdout(printed):
                self._type(block)
            said = printed.getvalue()
            assert block.shown is None or is_as_shown(said, block.shown), (
                f"{block.typed}\nprinted\n{said}\nand {name} shows\n{block.shown}"
            )

    def _here(self, text: str) -> str:
        return text.replace(_SHOWN_ADDRESS, self._url).replace("/data", str(self.data))

    def _type(self, block: Block) -> None:
        if block.language == "python":
            exec(block.typed, self._names)  # noqa: S102 (what a page of ours shows)
        elif "aviso-spark " in block.typed:
            for line in block.typed.replace("\\\n", " ").splitlines():
                self._run(line)
        else:
            subprocess.run(["bash", "-e", "-c", block.typed], check=True)

    def _run(self, line: str) -> None:
        first, _, rest = line.partition(" ")
        if first == "export":
            self._monkeypatch.setenv(*rest.split("=", 1))
            return
        assert first == "aviso-spark", line
        # Some of what pages show is there to be looked at.
        assert main(shlex.split(rest)) in (0, 1), line


@pytest.fixture
def reader(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    """Return a reader with a session, a service with the sample event types, and a folder of their own."""
    assert spark.version
    data, samples = tmp_path / "data", tmp_path / "samples"
    data.mkdir()
    _copy_samples(samples)
    asked = ("serve", "--schemas", str(samples), "--port", "0")
    with running_program(tmp_path, "aviso_all_in_one", *asked) as service:
        yield Reader(service.url, data, monkeypatch)


def _copy_samples(folder: Path) -> None:
    """Write the sample event types with a window that a slow machine does not leave between two commands of a page."""
    folder.mkdir()
    for sample in SAMPLES_FOLDER.iterdir():
        text = sample.read_text(encoding="utf-8")
        assert text.count("\n  storage:\n") == 1
        longer = text.replace("\n  storage:\n", "\n  storage:\n    duplicateWindow: 1d\n")
        (folder / sample.name).write_text(longer, encoding="utf-8")


def test_rows_are_published_read_and_kept_as_three_pages_say(reader: Reader) -> None:
    """What one publishes, the others read, keep and look at."""
    for page in ("publish-from-spark.md", "read-into-spark.md", "archive-with-spark.md"):
        reader.follow(page)


def test_what_comes_is_announced_as_the_page_says(reader: Reader) -> None:
    """The program of the page follows a folder with something in it."""
    area = '{"type":"Polygon","coordinates":[[[60,-18],[63,-18],[63,-15],[60,-18]]]}'
    fix = {"basin": "indian", "name": "petrel", "category": 1, "wind_speed": 35.0, "area": area}
    (reader.data / "fixes").mkdir()
    (reader.data / "fixes" / "a.json").write_text(json.dumps(fix))
    reader.follow("stream-from-spark.md")
    (report,) = (reader.data / "fixes-done").iterdir()
    assert json.loads(report.read_text())["accepted"] == 1
