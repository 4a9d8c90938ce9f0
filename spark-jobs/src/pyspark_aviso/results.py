"""What became of the records of a body: the service's answer, checked, and put together from several answers."""

from __future__ import annotations

from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Final, Literal, NamedTuple, TypeAlias

import msgspec

from pyspark_aviso.bodies_of_answers import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Status: TypeAlias = Literal["accepted", "duplicate", "rejected", "failed"]

# What asks the service for a short answer; one that knows nothing of it answers in full.
PREFER_SHORT: Final = {"Prefer": "return=minimal"}


class Result(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What became of one record. `sequence` of a duplicate is that of the first."""

    index: int
    status: Status
    event_type: str | None = None
    sequence: int | None = None
    id: str | None = None
    code: str | None = None
    message: str | None = None
    field: str | None = None
    attempts: int = 1

    @property
    def is_stored(self) -> bool:
        """Whether the service has the record."""
        return self.status in ("accepted", "duplicate")


class Posted(NamedTuple):
    """What became of the records of a body, by their places in it.

    Where a short answer was asked for, the results are only of records that are not stored.
    """

    accepted: int
    duplicate: int
    results: list[Result]

    @property
    def failed(self) -> list[int]:
        """The places of the records that the service could not store."""
        return [result.index for result in self.results if result.status == "failed"]

    def followed_by(self, other: Posted, *, places: Sequence[int]) -> Posted:
        """Return this with what became of further records, or of the same again, that have these places."""
        moved = [msgspec.structs.replace(result, index=places[result.index]) for result in other.results]
        again = frozenset(places)
        kept = (result for result in self.results if result.index not in again)
        return Posted(
            self.accepted + other.accepted,
            self.duplicate + other.duplicate,
            sorted([*kept, *moved], key=attrgetter("index")),
        )


NOTHING: Final = Posted(0, 0, [])


class NoAnswer(ValueError):
    """What came is no answer for these records; the message says why."""


_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class _Answer(msgspec.Struct):
    results: list[Result]
    accepted: _Count = 0
    duplicate: _Count = 0
    rejected: _Count = 0
    failed: _Count = 0

    @property
    def is_short(self) -> bool:
        """Whether there are results only of what is not stored, and for all of that."""
        counts = Counter(map(_status, self.results))
        return counts == Counter(rejected=self.rejected, failed=self.failed)


_decode: Final = msgspec.json.Decoder(_Answer).decode
_index: Final = attrgetter("index")
_status: Final = attrgetter("status")


def read_posted(body: bytes, count: int, *, attempts: int, is_short: bool) -> Posted:
    """Return what an answer says of so many records, each of which it must answer for."""
    try:
        answer = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NoAnswer(f"the answer is not the service's: {excerpt(body)}") from error
    results = answer.results
    if list(map(_index, results)) == list(range(count)):
        counts = Counter(map(_status, results))
        shown = (result for result in results if not (is_short and result.is_stored))
        return Posted(counts["accepted"], counts["duplicate"], _marked(shown, attempts))
    is_whole = answer.accepted + answer.duplicate + len(results) == count
    if is_short and is_whole and answer.is_short and _are_places(results, count):
        return Posted(answer.accepted, answer.duplicate, _marked(results, attempts))
    raise NoAnswer(f"the answer has {len(results)} results, and not one for each in order")


def _are_places(results: Sequence[Result], count: int) -> bool:
    places = list(map(_index, results))
    return places == sorted(set(places)) and all(0 <= place < count for place in places)


def _marked(results: Iterable[Result], attempts: int) -> list[Result]:
    if attempts == 1:
        return list(results)
    return [msgspec.structs.replace(result, attempts=attempts) for result in results]
