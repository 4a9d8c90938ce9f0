"""Bodies on their way: a few at a time, each answered for, and added up.

The window bounds what a task holds: a body is made only when there is room for it. Requests that are on their way
together may be stored in any order; with one at a time a partition keeps the order of its rows.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, Literal, Self

import msgspec

from pyspark_aviso.records import post_counted
from pyspark_aviso.transport import TransportError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from pyspark_aviso.batches import Body
    from pyspark_aviso.results import Posted, Result
    from pyspark_aviso.row_values import RowFault
    from pyspark_aviso.transport import Client

MOST_SAMPLES: Final = 10


class RowsRejected(Exception):
    """Rows are refused for what they are, and the option onReject says to fail."""


class Rejection(msgspec.Struct, frozen=True, kw_only=True):
    """Why one row was refused. It is found by its id, or where it never got one, by the JSON of its identifier."""

    event_type: str | None = None
    id: str | None = None
    identifier: str | None = None
    field: str | None
    message: str | None


class Tally(msgspec.Struct, kw_only=True):
    """What became of rows. In every task that succeeds the three outcomes add up to its rows."""

    rows: int = 0
    accepted: int = 0
    duplicate: int = 0
    rejected: int = 0
    requests: int = 0
    repeated_requests: int = 0
    rejections: list[Rejection] = []

    def add(self, other: Tally) -> None:
        """Add what another task did."""
        self.rows += other.rows
        self.accepted += other.accepted
        self.duplicate += other.duplicate
        self.rejected += other.rejected
        self.requests += other.requests
        self.repeated_requests += other.repeated_requests
        self.rejections = [*self.rejections, *other.rejections][:MOST_SAMPLES]


class Posting:
    """The posts of one task. Use it in a `with`: what is on its way at the end of the block was answered for."""

    def __init__(self, client: Client, *, in_flight: int, on_reject: Literal["fail", "count"]) -> None:
        self.tally = Tally()
        self._client = client
        self._in_flight = in_flight
        self._on_reject = on_reject
        self._pool = ThreadPoolExecutor(max_workers=in_flight, thread_name_prefix="aviso-post")
        self._sent: deque[Future[Posted]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            while self._sent and error is None:
                self._take()
        finally:
            self._pool.shutdown(cancel_futures=True)
            self.tally.requests = self._client.requests
            self.tally.repeated_requests = self._client.repeated
            self._client.close()

    def post(self, body: Body, check: Callable[[], None], *, event_type: str | None = None) -> None:
        """Send a body as soon as there is room for it in the window, and if the check does not refuse it then."""
        if len(self._sent) >= self._in_flight:
            self._take()
        check()
        self._sent.append(self._pool.submit(post_counted, self._client, event_type, body.data, body.records))

    def refuse(self, fault: RowFault) -> None:
        """Count a row that cannot be sent."""
        self.tally.rows += 1
        self._reject(Rejection(identifier=fault.identifier, field=fault.field, message=str(fault)))

    def _take(self) -> None:
        posted = self._sent.popleft().result()
        self.tally.rows += posted.accepted + posted.duplicate + len(posted.results)
        self.tally.accepted += posted.accepted
        self.tally.duplicate += posted.duplicate
        self._refuse_all(posted.results)

    def _refuse_all(self, results: Sequence[Result]) -> None:
        for result in results:
            if result.status == "rejected":
                self._reject(
                    Rejection(
                        event_type=result.event_type, id=result.id, field=result.field, message=result.message
                    )
                )
            elif result.status == "failed":
                raise TransportError(
                    f"the service could not store a record within option 'deadlineSeconds' "
                    f"({self._client.deadline_seconds:g} s): {result.message} ({result.code})"
                )

    def _reject(self, rejection: Rejection) -> None:
        self.tally.rejected += 1
        if self._on_reject == "fail":
            where = f"field '{rejection.field}' of a row" if rejection.field else "a row"
            raise RowsRejected(
                f"{where}{_named(rejection)} is refused: {rejection.message}. Mend the rows, or set option 'onReject' "
                "to 'count' to go on without such rows; notify() keeps them in a table"
            )
        if len(self.tally.rejections) < MOST_SAMPLES:
            self.tally.rejections.append(rejection)


def _named(rejection: Rejection) -> str:
    if rejection.id is not None:
        return f" with id {rejection.id}"
    return "" if rejection.identifier is None else f" with the identifier {rejection.identifier}"
