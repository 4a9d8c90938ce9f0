"""Reports of the processes in a bucket whose keys expire: key = `<service>/<process>`, value = its report."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import msgspec

from aviso_core.alongside import alongside
from aviso_core.registry.acknowledgements import (
    TIME_TO_LIVE_SECONDS,
    Answer,
    OnRollCall,
    Report,
    RollCall,
    seconds_between_renewals,
    take_roll,
)
from aviso_core.registry.jetstream.bucket import Bucket, BucketSettings, Entry
from aviso_core.registry.jetstream.watch import watch_for_ever

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping

    from aviso_core.broker.connection import Connection


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(dict[str, Answer]).decode


def acknowledgement_bucket(
    name: str = "aviso-acks", *, time_to_live_seconds: float = TIME_TO_LIVE_SECONDS, replicas: int = 1
) -> BucketSettings:
    """Return the settings of a bucket of reports."""
    return BucketSettings(name=name, history=1, replicas=replicas, max_age_seconds=time_to_live_seconds)


class JetStreamAcknowledgements:
    """`Acknowledgements` on the broker. Made by `open_jetstream_acknowledgements`."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    @property
    def time_to_live_seconds(self) -> float:
        """How long a report lives."""
        return self._bucket.settings.max_age_seconds

    async def report(self, process: str, report: Report) -> None:
        """Put a process's report in the place of its last one."""
        await self._bucket.put(process, _encode(report), expected=None)

    def leave(self, process: str) -> None:
        """Take a process off the roll, if the broker is there to hear it."""
        self._bucket.delete_soon(process)

    @asynccontextmanager
    async def follow(self, on_change: OnRollCall) -> AsyncIterator[RollCall]:
        """Follow the reports for as long as the block runs."""
        call = RollCall()
        following = watch_for_ever(
            self._bucket,
            on_everything=lambda entries: take_roll(call, _reports({}, entries), on_change),
            on_more=lambda entries: take_roll(call, _reports(call.reports, entries), on_change),
            seconds_between_readings=seconds_between_renewals(self.time_to_live_seconds),
        )
        async with alongside(following):
            yield call


def _reports(before: Mapping[str, Report], entries: Iterable[Entry]) -> dict[str, Report]:
    reports = dict(before)
    for entry in entries:
        if entry.is_tombstone:
            reports.pop(entry.key, None)
        else:
            reports[entry.key] = _read_report(entry.value)
    return reports


def _read_report(value: bytes) -> Report:
    """Return a report; one that cannot be read says nothing of any event type, but that its process is there."""
    try:
        return _decode(value)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return {}


@asynccontextmanager
async def open_jetstream_acknowledgements(
    connection: Connection, bucket: BucketSettings, *, is_owner: bool
) -> AsyncIterator[JetStreamAcknowledgements]:
    """Serve the reports in a bucket. The owner makes the bucket and keeps it as wanted; others take it as it is."""
    reports = Bucket(connection, bucket, is_owner=is_owner)
    if is_owner:
        await reports.ensure()
    yield JetStreamAcknowledgements(reports)
