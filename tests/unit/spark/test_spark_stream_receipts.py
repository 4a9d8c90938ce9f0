"""What a stream refuses before it starts: another stream's receipts, and a batch whose ids are forgotten."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from aviso_spark.common.problems import JobError, NotUnderstood
from aviso_spark.common.service import ServiceAddress
from aviso_spark.folders import ReachedFolder
from aviso_spark.stream_receipts import check_folder, check_resumption
from support.spark_service import EVENT_TYPE

if TYPE_CHECKING:
    from pathlib import Path

    from support.services import Program


def checkpoint_of(folder: Path, *, begun: int, ended: int, made_seconds_ago: float = 0.0) -> str:
    """Write what Spark remembers of so many batches."""
    said = {"batchTimestampMs": int((time.time() - made_seconds_ago) * 1000)}
    for name, count in (("offsets", begun), ("commits", ended)):
        (folder / name).mkdir(parents=True)
        for number in range(count):
            (folder / name / str(number)).write_text("v1\n" + json.dumps(said) + "\n")
    return str(folder)


def receipts_of(folder: Path, *, batches: int) -> str:
    """Write what Spark's file sink remembers of so many batches; the tenth stands for those before it."""
    (folder / "_spark_metadata").mkdir(parents=True)
    for number in range(batches):
        (folder / "_spark_metadata" / (f"{number}.compact" if number % 10 == 9 else str(number))).touch()
    return str(folder)


@pytest.mark.parametrize(
    ("begun", "ended", "kept"),
    [(3, 3, 3), (3, 2, 3), (3, 2, 2), (1, 0, 0), (1, 0, 1), (10, 10, 10), (0, 0, 0)],
)
def test_a_folder_that_goes_with_the_checkpoint_is_taken(
    tmp_path: Path, begun: int, ended: int, kept: int
) -> None:
    """A batch may have broken off before its receipts were kept, or between that and its end."""
    checkpoint = checkpoint_of(tmp_path / "c", begun=begun, ended=ended)
    check_folder(receipts_of(tmp_path / "r", batches=kept), checkpoint, open_=ReachedFolder)


@pytest.mark.parametrize(("begun", "ended", "kept"), [(0, 0, 3), (2, 2, 5), (5, 5, 2), (3, 2, 1)])
def test_a_folder_of_another_stream_is_refused(tmp_path: Path, begun: int, ended: int, kept: int) -> None:
    """Spark would take batches for done that were never sent, and say nothing."""
    checkpoint = checkpoint_of(tmp_path / "c", begun=begun, ended=ended)
    with pytest.raises(NotUnderstood, match=r"--receipts .* another stream .* name a folder of its own"):
        check_folder(receipts_of(tmp_path / "r", batches=kept), checkpoint, open_=ReachedFolder)


def test_a_stream_does_not_change_its_folder(tmp_path: Path) -> None:
    """What it has sent before stands in the other one."""
    with pytest.raises(NotUnderstood, match="has kept its receipts elsewhere"):
        check_folder(
            str(tmp_path / "new"), checkpoint_of(tmp_path / "c", begun=2, ended=2), open_=ReachedFolder
        )


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    """A reader of the folder would see the stream's receipts alone."""
    (tmp_path / "run=1").mkdir()
    with pytest.raises(NotUnderstood, match="that no stream has written"):
        check_folder(str(tmp_path), str(tmp_path / "no checkpoint yet"), open_=ReachedFolder)


def test_a_checkpoint_that_is_a_file_is_refused(avisod: Program, tmp_path: Path) -> None:
    """Spark would say it in a stack trace."""
    place = tmp_path / "file"
    place.touch()
    with pytest.raises(NotUnderstood, match="is a file: name a folder"):
        check_resumption(str(place), EVENT_TYPE, ServiceAddress(url=avisod.url), open_=ReachedFolder)


def test_a_checkpoint_that_is_no_such_thing_is_refused(avisod: Program, tmp_path: Path) -> None:
    """It says which file is at fault."""
    checkpoint = checkpoint_of(tmp_path, begun=1, ended=0)
    (tmp_path / "offsets" / "0").write_text("rubbish")
    with pytest.raises(NotUnderstood, match=r"cannot be read: .*offsets/0 does not say when"):
        check_resumption(checkpoint, EVENT_TYPE, ServiceAddress(url=avisod.url), open_=ReachedFolder)


def test_a_batch_is_done_again_while_its_ids_are_known(avisod: Program, tmp_path: Path) -> None:
    """The window of the event type is two minutes, of which a request may take some."""
    service = ServiceAddress(url=avisod.url, deadline_seconds=20)
    check_resumption(
        checkpoint_of(tmp_path / "a", begun=2, ended=1, made_seconds_ago=50),
        EVENT_TYPE,
        service,
        open_=ReachedFolder,
    )
    old = checkpoint_of(tmp_path / "b", begun=2, ended=1, made_seconds_ago=5000)
    with pytest.raises(JobError, match=r"batch 1 was begun 5\d\d\d s ago"):
        check_resumption(old, EVENT_TYPE, service, open_=ReachedFolder)
    check_resumption(
        checkpoint_of(tmp_path / "c", begun=2, ended=2, made_seconds_ago=5000),
        EVENT_TYPE,
        service,
        open_=ReachedFolder,
    )
