"""Compaction: the many small files of a day become few, and at every moment it is clear which of them count.

New files are written where nobody reads. Then a plan is put beside them in one step, and from that moment on they are
what counts: readers of the archive take them instead of those that the plan names, and whoever writes to the archive
next finishes what the plan says. A process that is killed before has changed nothing; one that is killed behind has
left work, and no doubt. Files are moved in before old ones are removed, so that readers which know nothing of plans may
for a moment see events twice, but never miss one.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from aviso_spark.common.problems import JobError
from aviso_spark.common.progress import told_progress
from aviso_spark.folders import File, Folder, has_files, literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from aviso_spark.common.stopping import Stopping

STAGE: Final = "_compacting"
_PLAN: Final = "plan.json"
_NEW: Final = "new"
# Files of a day that are larger than this on average are worth their number.
SMALL_BYTES: Final = 16 * 1024 * 1024
# What one step rewrites, so that a job that is stopped has done something, and needs room for little.
_STEP_BYTES: Final = 8 * 1024 * 1024 * 1024


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Files that the new ones beside this plan stand for; they are named from the folder of the archive."""

    stands_for: tuple[str, ...]


class Pending(NamedTuple):
    """A plan that was not carried out to its end, and its new files that were not moved in yet."""

    stage: str
    plan: Plan
    waiting: tuple[str, ...]

    def target(self, path: str) -> str:
        """Return where a new file belongs."""
        return path.removeprefix(f"{self.stage}/{_NEW}/")


class Compacted(NamedTuple):
    """What a compaction did."""

    days: int
    files_before: int
    files_after: int


def crowded(files: Iterable[File]) -> dict[str, list[File]]:
    """Return the days whose files are several and small, with these files; a day is a folder."""
    days: defaultdict[str, list[File]] = defaultdict(list)
    for file in files:
        days[file.path.rpartition("/")[0]].append(file)
    return {
        day: found
        for day, found in sorted(days.items())
        if len(found) > 1 and sum(file.size for file in found) < SMALL_BYTES * len(found)
    }


def steps(days: Mapping[str, Sequence[File]], most_bytes: int = _STEP_BYTES) -> Iterator[list[str]]:
    """Yield days that are rewritten together."""
    taken: list[str] = []
    size = 0
    for day, files in days.items():
        more = sum(file.size for file in files)
        if taken and size + more > most_bytes:
            yield taken
            taken, size = [], 0
        taken.append(day)
        size += more
    if taken:
        yield taken


def pending(folder: Folder) -> list[Pending]:
    """Return the plans that were not carried out to their end."""
    found = []
    for name in folder.folders(STAGE):
        stage = f"{STAGE}/{name}"
        if folder.has(f"{stage}/{_PLAN}"):
            plan = msgspec.json.decode(folder.read_text(f"{stage}/{_PLAN}"), type=Plan)
            waiting = tuple(file.path for file in folder.files(f"{stage}/{_NEW}"))
            found.append(Pending(stage, plan, waiting))
    return found


def finish(folder: Folder) -> None:
    """Carry out the plans that there are, and remove what was written for none."""
    for one in pending(folder):
        for path in one.waiting:
            folder.move(path, one.target(path))
        for path in one.plan.stands_for:
            folder.remove(path)
        folder.remove(one.stage)
    folder.remove(STAGE)


def files_that_count(folder: Folder) -> tuple[list[str], dict[str, list[str]]] | None:
    """Return the files to read in place and those that still wait, by their stage; None where there is no plan."""
    plans = pending(folder)
    if not plans:
        return None
    # A move that broke off may have left a file in both places.
    moving = {one.target(path) for one in plans for path in one.waiting}
    left_out = moving.union(*(one.plan.stands_for for one in plans))
    in_place = [file.path for file in folder.files() if file.path not in left_out]
    return in_place, {f"{one.stage}/{_NEW}": list(one.waiting) for one in plans if one.waiting}


def read_files(session: SparkSession, place: str, columns: str) -> DataFrame:
    """Return the rows of an archive, each once, whatever became of a compaction."""
    reader = session.read.option("mergeSchema", "false").schema(columns)
    folder = Folder(session, place) if has_files(session) else None
    found = files_that_count(folder) if folder is not None else None
    if folder is None or found is None:
        return reader.parquet(literal(place))
    in_place, waiting = found
    rows = _read(session, folder, columns, in_place, base="")
    for base, paths in waiting.items():
        rows = rows.unionByName(_read(session, folder, columns, paths, base=f"/{base}"))
    return rows


def _read(
    session: SparkSession, folder: Folder, columns: str, paths: Sequence[str], *, base: str
) -> DataFrame:
    if not paths:
        return session.createDataFrame([], columns)
    # Event type and day stand in the paths, counted from here.
    reader = (
        session.read.option("basePath", f"{folder.place}{base}")
        .option("mergeSchema", "false")
        .schema(columns)
    )
    return reader.parquet(*[literal(f"{folder.place}/{path}") for path in paths])


def compact(session: SparkSession, job: str, folder: Folder, columns: str, stopping: Stopping) -> Compacted:
    """Rewrite the days with small files; nothing is waiting to be finished before or behind."""
    finish(folder)
    days = crowded(folder.files())
    before = after = 0
    for number, step in enumerate(steps(days)):
        stopping.check()
        files = [file.path for day in step for file in days[day]]
        before += len(files)
        stage = f"{STAGE}/{number}"
        with told_progress(session, f"{job}: compacting"):
            after += _rewrite(session, folder, files, columns, stage)
        folder.write_text(f"{stage}/{_PLAN}", msgspec.json.encode(Plan(stands_for=tuple(files))).decode())
        finish(folder)
    return Compacted(len(days), before, after)


def _rewrite(session: SparkSession, folder: Folder, files: Sequence[str], columns: str, stage: str) -> int:
    old = _read(session, folder, columns, files, base="")
    # Files as large as Spark thinks right; a day of less than that becomes one.
    ordered = old.hint("rebalance", "event_type", "day").sortWithinPartitions("event_type", "day", "sequence")
    ordered.write.partitionBy("event_type", "day").parquet(f"{folder.place}/{stage}/{_NEW}")
    new = [file.path for file in folder.files(f"{stage}/{_NEW}")]
    kept = _read(session, folder, columns, new, base=f"/{stage}/{_NEW}").count()
    if kept != old.count():
        raise JobError(
            f"compacting {folder.place} would have changed the number of events: nothing was replaced"
        )
    return len(new)
