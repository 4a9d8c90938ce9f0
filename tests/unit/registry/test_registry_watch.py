"""What a watch makes of what the broker says, message by message."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import pytest

from aviso_core.broker.client import BrokerClient
from aviso_core.broker.connection import Connection, ConnectionOptions, Delivered
from aviso_core.registry.jetstream.bucket import Bucket, BucketSettings
from aviso_core.registry.jetstream.watch import Watch, WatchLost

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from aviso_core.registry.jetstream.bucket import Entry

BUCKET: Final = BucketSettings(name="schemas")


def watch(through: int) -> Watch:
    """Return a watch of a bucket whose last sequence is known. Nobody is connected to anything."""
    connection = Connection(BrokerClient(), ConnectionOptions(servers=("nats://nowhere",)))
    return Watch(Bucket(connection, BUCKET, is_owner=False), through)


def delivery(sequence: int, number: int, *, pending: int = 0, before: bytes = b"") -> Delivered:
    reply = b"$JS.ACK.%sKV_schemas.consumer.1.%d.%d.1700000000000000000.%d" % (
        before,
        sequence,
        number,
        pending,
    )
    return Delivered(b"$KV.schemas.storms", reply, b"%d" % sequence, None)


def status(text: str, *, reply: bytes = b"", **headers: int) -> Delivered:
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return Delivered(b"_INBOX.x", reply, b"", f"NATS/1.0 {text}\r\n{lines}\r\n".encode())


def heartbeat(deliveries: int, *, sequence: int = 99) -> Delivered:
    return status("100 Idle Heartbeat", Nats_Last_Consumer=deliveries, Nats_Last_Stream=sequence)


def load(watch: Watch, *messages: Delivered) -> list[int]:
    """Return the revisions that a watch has loaded after the messages, or raise that there is more to come."""
    return _revisions(watch, watch.load, messages)


def more(watch: Watch, *messages: Delivered) -> list[int]:
    return _revisions(watch, watch.more, messages)


def _revisions(
    watch: Watch, read: Callable[[], Coroutine[Any, Any, list[Entry]]], messages: tuple[Delivered, ...]
) -> list[int]:
    async def main() -> list[int]:
        for message in messages:
            watch.on_message(message)
        task = asyncio.create_task(read())
        for _ in range(3):
            await asyncio.sleep(0)
        if not task.done():
            task.cancel()
            raise LookupError("there is more to come")
        return [entry.revision for entry in task.result()]

    return asyncio.run(main())


def test_an_empty_bucket_is_loaded_at_once() -> None:
    assert load(watch(0)) == []


def test_everything_up_to_the_last_sequence_is_loaded() -> None:
    assert load(watch(7), delivery(3, 1, pending=1), delivery(7, 2)) == [3, 7]


def test_what_comes_after_it_is_not_kept_back() -> None:
    assert load(watch(7), delivery(7, 1), delivery(9, 2)) == [7, 9]


def test_a_replica_that_lags_is_not_believed_that_there_is_no_more() -> None:
    """The leader said how far it must go. Neither is one that is idle."""
    with pytest.raises(LookupError):
        load(watch(7), delivery(3, 1, pending=0), heartbeat(1, sequence=3))


def test_a_broker_that_has_looked_at_everything_has_delivered_all_there_is() -> None:
    """The last sequence was removed meanwhile."""
    assert load(watch(7), delivery(3, 1), heartbeat(1)) == [3]


def test_more_is_what_is_added() -> None:
    open_watch = watch(0)
    assert more(open_watch, delivery(1, 1), delivery(2, 2)) == [1, 2]
    assert more(open_watch, heartbeat(2), delivery(3, 3)) == [3]


def test_brokers_of_several_domains_name_theirs() -> None:
    assert load(watch(3), delivery(3, 1, before=b"domain.account.")) == [3]


def test_a_broker_that_asks_whether_we_keep_up_loses_nothing() -> None:
    with pytest.raises(LookupError):
        more(watch(0), status("100 FlowControl Request", reply=b"$JS.FC.x"))


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([delivery(3, 2)], "delivery 2 came where 1 was due"),
        ([delivery(3, 1), delivery(4, 3)], "delivery 3 came where 2 was due"),
        ([heartbeat(1)], "1 deliveries were made and 0 came"),
        ([status("409 Consumer Deleted")], "409 Consumer Deleted"),
    ],
)
def test_a_consumer_that_skipped_something_or_is_gone_is_lost(messages: list[Delivered], why: str) -> None:
    lost = watch(9)
    with pytest.raises(WatchLost, match=why):
        load(lost, *messages)


def test_what_came_before_the_loss_is_handed_over() -> None:
    lost = watch(0)
    assert more(lost, delivery(1, 1), delivery(3, 3)) == [1]
    with pytest.raises(WatchLost):
        more(lost)


def test_a_lost_connection_loses_the_watch() -> None:
    lost = watch(9)
    lost.lose()
    with pytest.raises(WatchLost, match="the connection was lost"):
        load(lost)
