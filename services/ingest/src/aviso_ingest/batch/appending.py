"""Appending what is ready: in the order of the records for each stream, side by side for several.

A stream gets the next window only when it has answered for the one before: the log keeps the order within one call,
and between calls only if they follow each other. An id that stands twice in a request is sent once, unless the first
record with it cannot be stored for what it is: then it is still to be had.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from aviso_core.errors import Unavailable
from aviso_core.eventlog.base import Appended, AppendFailed, RecordRefused, StreamMissing, StreamRefused
from aviso_http.problems import Endpoint
from aviso_ingest.batch.results import Result, outcome_of, shortened
from aviso_ingest.storing import storage_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aviso_core.eventlog.base import Record
    from aviso_ingest.batch.checking import Ready
    from aviso_ingest.parts import Parts

# What the log says of one record.
Said: TypeAlias = Appended | AppendFailed | StreamMissing | StreamRefused | Unavailable


# Where an id stood first in the request: its stream, and the id as the log knows it.
_Key: TypeAlias = tuple[str, str]


class Appending:
    """The appends of one request."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._said: dict[_Key, Said | None] = {}

    async def append(self, ready: Sequence[Ready]) -> list[Result]:
        """Append records and return what became of each; what is appended after this stands after them."""
        by_base: dict[str, list[Ready]] = {}
        repeated: list[Ready] = []
        for one in ready:
            if self._is_repeated(one):
                repeated.append(one)
            else:
                by_base.setdefault(one.taken.base, []).append(one)
        if len(by_base) == 1:
            results = await self._append_to(*next(iter(by_base.items())))
        else:
            async with asyncio.TaskGroup() as tasks:
                under_way = [tasks.create_task(self._append_to(*item)) for item in by_base.items()]
            results = [result for task in under_way for result in task.result()]
        results += await self._append_repeated(repeated)
        if repeated or len(by_base) > 1:
            results.sort(key=_index_of)
        return results

    async def _append_repeated(self, repeated: Sequence[Ready]) -> list[Result]:
        results = []
        for one in repeated:
            if self._is_repeated(one):
                results.append(self._result_of_repeated(one))
            else:
                results += await self._append_to(one.taken.base, [one])
        return results

    def _is_repeated(self, ready: Ready) -> bool:
        message_id = ready.taken.record.message_id
        if message_id is None:
            return False
        key = (ready.taken.base, message_id)
        if key in self._said:
            return True
        self._said[key] = None
        return False

    async def _append_to(self, base: str, ready: Sequence[Ready]) -> list[Result]:
        said = await self._ask_log(base, [one.taken.record for one in ready])
        for one, answer in zip(ready, said, strict=True):
            message_id = one.taken.record.message_id
            if message_id is None:
                continue
            if isinstance(answer, RecordRefused):
                del self._said[base, message_id]
            else:
                self._said[base, message_id] = answer
        return [self._result(one, answer) for one, answer in zip(ready, said, strict=True)]

    async def _ask_log(self, base: str, records: Sequence[Record]) -> Sequence[Said]:
        began = time.perf_counter()
        is_ok = False
        try:
            said = await self._parts.log.append_all(base, records)
            is_ok = not any(isinstance(one, AppendFailed) for one in said)
            return said
        except (AppendFailed, StreamMissing, StreamRefused, Unavailable) as failure:
            return [failure] * len(records)
        finally:
            self._parts.counters.operation("publish", is_ok=is_ok, seconds=time.perf_counter() - began)

    def _result_of_repeated(self, ready: Ready) -> Result:
        assert ready.taken.record.message_id is not None
        said = self._said[ready.taken.base, ready.taken.record.message_id]
        assert said is not None, "what was sent first was answered first"
        if isinstance(said, Appended):
            said = Appended(said.sequence, is_duplicate=True)
        return self._result(ready, said)

    def _result(self, ready: Ready, said: Said) -> Result:
        identity = msgspec.UNSET if ready.identity is None else ready.identity
        if isinstance(said, Appended):
            return Result(
                index=ready.place,
                status="duplicate" if said.is_duplicate else "accepted",
                event_type=ready.event_type,
                sequence=said.sequence,
                id=identity,
            )
        error = said if isinstance(said, StreamMissing) else storage_error(said)
        return Result(
            index=ready.place,
            status=outcome_of(error, self._parts.problems),
            event_type=ready.event_type,
            id=identity,
            code=self._parts.problems.code_of(error, Endpoint.NOTIFICATION),
            message=shortened(str(error)),
        )


def _index_of(result: Result) -> int:
    return result.index
