"""What a batch job that broke off may do again, and where that is remembered."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from aviso_spark.common.problems import JobError
from aviso_spark.common.service import ServiceAddress
from aviso_spark.unfinished import Begun, Run, check_resumption, place_of
from support.spark_service import EVENT_TYPE

if TYPE_CHECKING:
    from support.services import Program

RUN = Run(source=("csv", "/in.csv"), event_type=EVENT_TYPE, id_scope="")


def begun(seconds_ago: float) -> Begun:
    """Return a run that was begun so long ago."""
    return Begun(run=RUN, begun_at=time.time() - seconds_ago)


def test_a_run_is_done_again_while_its_ids_are_known(avisod: Program) -> None:
    """The window of the event type is two minutes, of which a request may take some."""
    service = ServiceAddress(url=avisod.url, deadline_seconds=20)
    place = place_of(receipts="/r")
    check_resumption(begun(50), place, [EVENT_TYPE], service)
    with pytest.raises(JobError, match=r"--receipts /r: this write was begun 5\d\d\d s ago.*acceptRepeats"):
        check_resumption(begun(5000), place, [EVENT_TYPE], service)


def test_it_is_remembered_beside_what_stays_the_same_from_run_to_run() -> None:
    """Readers of receipts pass over it."""
    assert place_of(receipts="s3a://b/r")[:2] == ("s3a://b/r", "_begun-")
    assert place_of(receipts="/r", watermark_file="/m/scenes.mark")[:2] == ("file:///m", "scenes.mark.begun-")
