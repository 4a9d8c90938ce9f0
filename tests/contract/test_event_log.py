"""What a log promises (`aviso_core.eventlog.base`), tried on every log there is.

A behaviour is an asynchronous function over an open, empty log. Which logs there are is said once, in the fixture
`backend`.
"""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING

import pytest

from aviso_core.eventlog.base import (
    Appended,
    AppendFailed,
    DuplicateInBatch,
    EpochChanged,
    EventLog,
    RecordRefused,
    RecordTooLarge,
    WrongLastSequence,
)
from aviso_core.eventlog.limits import (
    LARGEST_HEADERS,
    LARGEST_RECORD,
    LARGEST_SUBJECT,
    MOST_IN_A_BATCH,
)
from support.containers import running_container
from support.event_logs import (
    Backend,
    fill,
    jetstream_backend,
    memory_backend,
    numbered,
    over_every_log,
    payloads,
    read_all,
    read_batches,
    record,
    sequences,
    take,
)
from support.nats import running_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LARGEST_NUMBER = 2**64 - 1


@pytest.fixture
def server_url(tmp_path: Path) -> Iterator[str]:
    """Run a broker for one test: one that has removed streams may bring their entries back under the same names."""
    with running_server(tmp_path) as server:
        yield server.url


@pytest.fixture(scope="module")
def container() -> Iterator[Iterator[str] | None]:
    with running_container() as accounts:
        yield accounts


@pytest.fixture(params=["memory", "jetstream", "jetstream in a container"])
def backend(request: pytest.FixtureRequest) -> Backend:
    """Every log there is: what is parametrised here is all that the suite knows of them."""
    if request.param == "memory":
        return memory_backend()
    if request.param == "jetstream":
        return jetstream_backend(request.getfixturevalue("server_url"))
    accounts = request.getfixturevalue("container")
    if accounts is None:
        pytest.skip("not on this machine: a Docker engine")
    return jetstream_backend(next(accounts))


# --- appending -------------------------------------------------------------------------------------------


@over_every_log
async def test_a_stream_counts_from_one(log: EventLog) -> None:
    """The first record has sequence 1, and each one after it the next."""
    appended = [await log.append("mars", one) for one in numbered(3)]
    assert appended == [Appended(1), Appended(2), Appended(3)]


@over_every_log
async def test_every_stream_counts_for_itself(log: EventLog) -> None:
    """A client without filters takes a skipped number for lost data, so no two bases share a counter."""
    await log.append("mars", record("mars.a"))
    assert await log.append("diss", record("diss.a")) == Appended(1)
    assert await log.append("mars", record("mars.b")) == Appended(2)


@over_every_log
async def test_what_is_stored_is_what_was_appended(log: EventLog) -> None:
    """Subject, payload and headers come back as they were handed over, with the instant of storing."""
    before = time.time_ns()
    headers = {"spatial_bbox": "1,2,3,4", "aviso": '{"a":"b: c"}'}
    await log.append("mars", record("mars.od.0001", b'{"k":[1, 2]}', headers=headers, message_id="one"))
    (entry,) = await read_all(log)
    assert (entry.sequence, entry.subject, entry.payload) == (1, "mars.od.0001", b'{"k":[1, 2]}')
    assert dict(entry.headers) == headers
    # Clocks of two machines may differ; a container's is this one's.
    assert before - 10**9 < entry.instant < time.time_ns() + 10**9


@over_every_log
async def test_subjects_of_any_script_come_back_as_they_were(log: EventLog) -> None:
    """Escapes are the codec's affair: to the log they are characters like others."""
    subjects = ["mars.grün.雪", "mars.a%2Eb.%2A", "mars.x%20y.%3E", "mars.0%25.Ω-_~!$&'()+,;=:@"]
    await fill(log, [record(subject) for subject in subjects])
    assert [entry.subject for entry in await read_all(log)] == subjects


@over_every_log
async def test_headers_of_any_script_come_back_as_they_were(log: EventLog) -> None:
    """Also colons, quotes, white space at the ends, and nothing at all."""
    headers = {"a": "grün 雪 🌊", "b": 'x: "y": z', "c": "", "d": "  padded\t", "E-f": "1"}
    await log.append("mars", record(headers=headers))
    assert dict((await read_all(log))[0].headers) == headers


@over_every_log
async def test_payloads_are_bytes(log: EventLog) -> None:
    """Nothing at all, line ends, every byte there is: the log looks at none of it."""
    stored = [b"", b"null", b"\r\n", bytes(range(256)), b"NATS/1.0 503\r\n\r\n"]
    await fill(log, [record(payload=payload) for payload in stored])
    assert payloads(await read_all(log)) == stored


@over_every_log
async def test_a_known_id_is_not_stored_again(log: EventLog) -> None:
    """Whoever repeats an append is told where the first one stands."""
    await log.append("mars", record(message_id="first"))
    assert await log.append("mars", record(message_id="one")) == Appended(2)
    assert await log.append("mars", record(message_id="one")) == Appended(2, is_duplicate=True)
    assert await log.append("mars", record(message_id="other")) == Appended(3)


@over_every_log
async def test_an_id_stands_for_what_came_with_it_first(log: EventLog) -> None:
    """A second record under the same id is not looked at, whatever it says."""
    await log.append("mars", record("mars.a", b"1", message_id="one"))
    again = await log.append("mars", record("mars.b", b"2", message_id="one"))
    assert again == Appended(1, is_duplicate=True)
    assert payloads(await read_all(log)) == [b"1"]


@over_every_log
async def test_ids_are_those_of_one_stream(log: EventLog) -> None:
    """The same id in another stream is another record."""
    assert await log.append("mars", record("mars.a", message_id="one")) == Appended(1)
    assert await log.append("diss", record("diss.a", message_id="one")) == Appended(1)


@over_every_log
async def test_equal_records_without_ids_are_all_stored(log: EventLog) -> None:
    """Only an id makes two records the same."""
    assert await fill(log, [record(), record(), record()]) == [1, 2, 3]


@over_every_log
async def test_ids_may_be_any_text_of_one_line(log: EventLog) -> None:
    """They come from producers, and are compared as they are."""
    ids = ["0", "a b", "grün/雪", "x" * 500, "{'a': \"b\"}", "%0d%0a"]
    await fill(log, [record(message_id=one) for one in ids])
    again = [await log.append("mars", record(message_id=one)) for one in ids]
    assert again == [Appended(place, is_duplicate=True) for place in range(1, len(ids) + 1)]


@over_every_log
async def test_line_ends_do_not_get_into_headers(log: EventLog) -> None:
    """A broker would take what follows them for a header of its own, such as one that empties the stream."""
    await log.append("mars", record())
    for bad in (
        record(message_id="a\r\nNats-Rollup: all"),
        record(message_id="a\n"),
        record(headers={"a": "b\r\nc: d"}),
        record(headers={"a\r\nb": "c"}),
        record(headers={"a:b": "c"}),
        record(headers={"": "c"}),
        record(headers={"Nats-Rollup": "all"}),
        record("mars.a b"),
        record("mars.a\r\nPING"),
        record("mars.a.*"),
        record("mars..a"),
        record("mars."),
    ):
        with pytest.raises(RecordRefused) as refused:
            await log.append("mars", bad)
        assert not refused.value.may_retry
    assert sequences(await read_all(log)) == [1]


@over_every_log
async def test_a_record_goes_to_the_stream_of_its_subject(log: EventLog) -> None:
    """Another base in the subject is a mistake in the program."""
    with pytest.raises(AssertionError):
        await log.append("mars", record("diss.a"))


@over_every_log
async def test_an_expected_sequence_that_is_the_last_is_taken(log: EventLog) -> None:
    """0 is expected of an empty stream."""
    for last in range(3):
        assert await log.append("mars", record(expected_last_sequence=last)) == Appended(last + 1)


@over_every_log
async def test_an_expected_sequence_that_is_not_the_last_is_refused(log: EventLog) -> None:
    """Neither one that was the last before nor one that will be; nothing is stored."""
    await fill(log, numbered(3))
    for wrong in (0, 2, 4, 99, -1, 2**63, LARGEST_NUMBER, LARGEST_NUMBER + 1):
        with pytest.raises(WrongLastSequence) as refused:
            await log.append("mars", record(expected_last_sequence=wrong))
        assert refused.value.expected == wrong
        assert not refused.value.may_retry
    assert (await log.bounds("mars")).last == 3


@over_every_log
async def test_deleted_entries_count_for_what_is_expected(log: EventLog) -> None:
    """The last sequence is the last one given, stored or not."""
    await fill(log, numbered(3))
    await log.delete("mars", 3)
    assert await log.append("mars", record(expected_last_sequence=3)) == Appended(4)


@over_every_log
async def test_repeating_a_conditional_append_is_answered_like_any(log: EventLog) -> None:
    """The id is looked at first: the condition was met when the record was stored."""
    await log.append("mars", record(message_id="one", expected_last_sequence=0))
    again = await log.append("mars", record(message_id="one", expected_last_sequence=0))
    assert again == Appended(1, is_duplicate=True)


@over_every_log
async def test_the_largest_record_is_taken(log: EventLog) -> None:
    """The limit is one for payload, subject and headers together, and it is reached."""
    subject, headers = "mars.a", {"h": "é" * 100}
    rest = record(subject, b"", headers=headers).size
    await log.append("mars", record(subject, b"x" * (LARGEST_RECORD - rest), headers=headers))
    assert len((await read_all(log))[0].payload) == LARGEST_RECORD - rest


@over_every_log
async def test_a_larger_record_is_refused(log: EventLog) -> None:
    """One byte too many; the message says how many and how many may be, and the log goes on."""
    rest = record("mars.a", b"").size
    with pytest.raises(RecordTooLarge, match=f"{LARGEST_RECORD + 1}.*{LARGEST_RECORD}") as refused:
        await log.append("mars", record("mars.a", b"x" * (LARGEST_RECORD + 1 - rest)))
    assert not refused.value.may_retry
    assert await log.append("mars", record("mars.a")) == Appended(1)


@over_every_log
async def test_the_largest_headers_are_taken_and_larger_ones_refused(log: EventLog) -> None:
    """They are counted as they are written, in bytes."""
    fits = {"h": "é" * ((LARGEST_HEADERS - 1 - 4) // 2)}
    await log.append("mars", record(headers=fits))
    assert dict((await read_all(log))[0].headers) == fits
    with pytest.raises(RecordTooLarge):
        await log.append("mars", record(headers={"h": "é" * (LARGEST_HEADERS // 2)}))


@over_every_log
async def test_the_longest_subject_is_taken_and_a_longer_one_refused(log: EventLog) -> None:
    """A broker breaks the connection over a line that is too long for it."""
    longest = "mars." + "é" * ((LARGEST_SUBJECT - 5) // 2)
    await log.append("mars", record(longest))
    assert (await read_all(log))[0].subject == longest
    with pytest.raises(RecordTooLarge):
        await log.append("mars", record(longest + "éé"))
    assert await log.append("mars", record()) == Appended(2)


@over_every_log
async def test_appends_side_by_side_share_the_sequences(log: EventLog) -> None:
    """Each gets one of its own, and what stands there is what it appended."""
    results = await asyncio.gather(*(log.append("mars", one) for one in numbered(500)))
    assert sorted(result.sequence for result in results) == list(range(1, 501))
    stored = {entry.sequence: entry.payload for entry in await read_all(log)}
    assert stored == {
        result.sequence: one.payload for result, one in zip(results, numbered(500), strict=True)
    }


@over_every_log
async def test_a_cancelled_append_leaves_the_log_usable(log: EventLog) -> None:
    """Its record may be stored or not; those of others are."""
    calls = [asyncio.ensure_future(log.append("mars", one)) for one in numbered(20)]
    await asyncio.sleep(0)
    for call in calls[::2]:
        call.cancel()
    results = await asyncio.gather(*calls, return_exceptions=True)
    kept = [one for one, result in zip(numbered(20), results, strict=True) if isinstance(result, Appended)]
    assert len(kept) >= 10
    assert {one.payload for one in kept} <= set(payloads(await read_all(log)))


# --- many at once ----------------------------------------------------------------------------------------


@over_every_log
async def test_records_of_one_call_keep_their_order(log: EventLog) -> None:
    """Sequences are told in the order of the records, and they stand in it."""
    assert await fill(log, numbered(1000)) == list(range(1, 1001))
    assert payloads(await read_all(log)) == [str(number).encode() for number in range(1, 1001)]


@over_every_log
async def test_nothing_can_be_appended(log: EventLog) -> None:
    """A call without records has no results, and leaves the stream empty."""
    assert await log.append_all("mars", []) == []
    assert await log.append_atomically("mars", []) == []
    assert (await log.bounds("mars")).last == 0


@over_every_log
async def test_a_refused_record_does_not_stop_the_others(log: EventLog) -> None:
    """Its place among the results holds the refusal."""
    too_large = record(payload=b"x" * LARGEST_RECORD)
    wrong = record(expected_last_sequence=99)
    results = await log.append_all("mars", [record(), too_large, record(), wrong, record()])
    assert [type(result) for result in results] == [
        Appended,
        RecordTooLarge,
        Appended,
        WrongLastSequence,
        Appended,
    ]
    assert sequences(await read_all(log)) == [1, 2, 3]


@over_every_log
async def test_an_id_twice_in_one_call_is_stored_once(log: EventLog) -> None:
    """The second is told the place of the first."""
    results = await log.append_all(
        "mars", [record(message_id="a"), record(message_id="b"), record(message_id="a")]
    )
    assert results == [Appended(1), Appended(2), Appended(1, is_duplicate=True)]


@over_every_log
async def test_a_chain_of_expectations_holds_in_one_call(log: EventLog) -> None:
    """Each record of a call may expect the one before it."""
    chain = [record(expected_last_sequence=last) for last in range(50)]
    assert await fill(log, chain) == list(range(1, 51))


@over_every_log
async def test_calls_side_by_side_keep_their_own_order(log: EventLog) -> None:
    """Records of several calls may alternate, those of one never overtake each other."""
    calls = [numbered(300, f"mars.{call}") for call in range(5)]
    results = await asyncio.gather(*(fill(log, records) for records in calls))
    assert all(given == sorted(given) for given in results)
    entries = await read_all(log)
    assert sequences(entries) == list(range(1, 1501))
    for call, records in enumerate(calls):
        told = [entry.payload for entry in entries if entry.subject == f"mars.{call}"]
        assert told == [one.payload for one in records]


@over_every_log
async def test_many_large_records_go_through(log: EventLog) -> None:
    """More than may be on the way at a time: the call waits, and loses none."""
    records = [record(f"mars.{number}", b"x" * 200_000) for number in range(250)]
    assert await fill(log, records) == list(range(1, 251))


# --- all or none -----------------------------------------------------------------------------------------


@over_every_log
async def test_a_batch_has_consecutive_sequences(log: EventLog) -> None:
    """It stands in its order behind what was there."""
    await log.append("mars", record())
    appended = await log.append_atomically("mars", numbered(5))
    assert appended == [Appended(sequence) for sequence in range(2, 7)]
    assert payloads(await read_all(log, first=2)) == [b"1", b"2", b"3", b"4", b"5"]


@over_every_log
async def test_a_batch_of_one_is_a_batch(log: EventLog) -> None:
    """First and last member are the same then."""
    assert await log.append_atomically("mars", [record()]) == [Appended(1)]


@over_every_log
async def test_the_largest_batch_is_taken_and_a_larger_one_refused(log: EventLog) -> None:
    """It is refused before any of it is sent."""
    assert len(await log.append_atomically("mars", numbered(MOST_IN_A_BATCH))) == MOST_IN_A_BATCH
    with pytest.raises(AppendFailed, match=str(MOST_IN_A_BATCH)):
        await log.append_atomically("mars", numbered(MOST_IN_A_BATCH + 1))
    assert (await log.bounds("mars")).last == MOST_IN_A_BATCH


@over_every_log
async def test_appends_alongside_do_not_get_into_a_batch(log: EventLog) -> None:
    """Its sequences are consecutive however busy the stream is."""
    appending = [asyncio.ensure_future(log.append("mars", record("mars.other"))) for _ in range(200)]
    given = [one.sequence for one in await log.append_atomically("mars", numbered(200, "mars.batch"))]
    others = await asyncio.gather(*appending)
    assert given == list(range(given[0], given[0] + 200))
    assert sorted(given + [other.sequence for other in others]) == list(range(1, 401))


@over_every_log
async def test_a_member_that_is_too_large_refuses_the_batch(log: EventLog) -> None:
    """Wherever it stands."""
    too_large = record(payload=b"x" * LARGEST_RECORD)
    for place in range(3):
        members = [record(), record()]
        members.insert(place, too_large)
        with pytest.raises(RecordTooLarge):
            await log.append_atomically("mars", members)
    assert (await log.bounds("mars")).last == 0


@over_every_log
async def test_a_member_that_was_stored_before_refuses_the_batch(log: EventLog) -> None:
    """Nothing of the batch is stored, and none of its ids is remembered."""
    await log.append("mars", record(message_id="one"))
    members = [record(message_id=one) for one in ("two", "one", "three")]
    with pytest.raises(DuplicateInBatch):
        await log.append_atomically("mars", members)
    assert await log.append("mars", record(message_id="two")) == Appended(2)


@over_every_log
async def test_an_id_twice_in_a_batch_refuses_it(log: EventLog) -> None:
    """A batch that stored one of them would not be whole."""
    with pytest.raises(DuplicateInBatch):
        await log.append_atomically("mars", [record(message_id="one"), record(message_id="one")])
    assert (await log.bounds("mars")).last == 0


@over_every_log
async def test_ids_of_a_batch_are_remembered(log: EventLog) -> None:
    """An append of a member is a duplicate, and so is the whole batch."""
    members = [record(message_id="one"), record(message_id="two")]
    await log.append_atomically("mars", members)
    assert await log.append("mars", members[1]) == Appended(2, is_duplicate=True)
    with pytest.raises(DuplicateInBatch):
        await log.append_atomically("mars", members)


@over_every_log
async def test_a_batch_may_expect_what_is_before_it(log: EventLog) -> None:
    """Its first member may, and each later one the member before."""
    await log.append("mars", record())
    await log.append_atomically("mars", [record(expected_last_sequence=1), record()])
    await log.append_atomically("mars", [record(), record(expected_last_sequence=4)])
    await log.append_atomically("mars", [record(expected_last_sequence=last) for last in (5, 6, 7)])
    assert (await log.bounds("mars")).last == 8


@over_every_log
async def test_a_member_that_expects_wrongly_refuses_the_batch(log: EventLog) -> None:
    """Wherever it stands, also where two of them contradict each other."""
    await fill(log, numbered(3))
    for expectations in ([2, None], [None, 3], [3, 3], [3, 5], [0, 1], [None, 0], [-1, 0], [2**64, None]):
        with pytest.raises(WrongLastSequence):
            await log.append_atomically(
                "mars", [record(expected_last_sequence=expected) for expected in expectations]
            )
    assert (await log.bounds("mars")).last == 3


# --- bounds ----------------------------------------------------------------------------------------------


@over_every_log
async def test_the_bounds_of_an_empty_stream(log: EventLog) -> None:
    """The next record will be the first."""
    bounds = await log.bounds("mars")
    assert (bounds.first, bounds.last, bounds.messages, bounds.bytes) == (1, 0, 0, 0)
    assert bounds.last_instant is None
    assert bounds.epoch


@over_every_log
async def test_bounds_tell_what_is_stored(log: EventLog) -> None:
    """First, last, how many, how much, and when the last one was."""
    await fill(log, numbered(5))
    bounds = await log.bounds("mars")
    assert (bounds.first, bounds.last, bounds.messages) == (1, 5, 5)
    assert bounds.bytes >= 5
    assert bounds.last_instant == (await read_all(log))[-1].instant


@over_every_log
async def test_bounds_after_deletions(log: EventLog) -> None:
    """The first is the first that is stored, the last the last that was given."""
    await fill(log, numbered(5))
    for sequence, first in ((3, 1), (1, 2), (5, 2), (2, 4)):
        await log.delete("mars", sequence)
        bounds = await log.bounds("mars")
        assert (bounds.first, bounds.last) == (first, 5)
    assert (await log.bounds("mars")).messages == 1


@over_every_log
async def test_the_epoch_stays(log: EventLog) -> None:
    """Whatever is appended, deleted or wiped."""
    epoch = (await log.bounds("mars")).epoch
    await fill(log, numbered(2))
    await log.delete("mars", 1)
    assert (await log.bounds("mars")).epoch == epoch
    await log.wipe("mars")
    await log.wipe_all()
    await log.append("mars", record())
    assert (await log.bounds("mars")).epoch == epoch


@over_every_log
async def test_instants_do_not_run_backwards(log: EventLog) -> None:
    """Each entry was stored no earlier than the one before it."""
    await fill(log, numbered(200))
    instants = [entry.instant for entry in await read_all(log)]
    assert instants == sorted(instants)


# --- reading ---------------------------------------------------------------------------------------------


@over_every_log
async def test_a_range_is_inclusive(log: EventLog) -> None:
    """Both ends belong to it."""
    await fill(log, numbered(10))
    assert sequences(await read_all(log, first=4, last=7)) == [4, 5, 6, 7]
    assert sequences(await read_all(log, first=5, last=5)) == [5]


@over_every_log
async def test_zero_and_one_both_begin_at_the_beginning(log: EventLog) -> None:
    """As the contract has it for starting points."""
    await fill(log, numbered(3))
    assert sequences(await read_all(log, first=0, last=2)) == [1, 2]


@over_every_log
async def test_a_range_beyond_the_end_ends(log: EventLog) -> None:
    """There is nothing to wait for, and its last batch goes through to the end of the range."""
    await fill(log, numbered(3))
    batches = await read_batches(log, first=2, last=99)
    assert [sequence for batch in batches for sequence in sequences(batch.entries)] == [2, 3]
    assert batches[-1].through == 99
    assert await read_all(log, first=50, last=99) == []
    assert sequences(await read_all(log, first=1, last=LARGEST_NUMBER)) == [1, 2, 3]
    assert await read_all(log, first=LARGEST_NUMBER, last=LARGEST_NUMBER) == []


@over_every_log
async def test_an_empty_range_has_no_batches(log: EventLog) -> None:
    """Its end is before its beginning."""
    await fill(log, numbered(3))
    assert await read_batches(log, first=3, last=2) == []
    assert await read_batches(log, first=1, last=0) == []


@over_every_log
async def test_an_empty_stream_is_read_to_its_end(log: EventLog) -> None:
    """A range of it ends like one without entries in any stream."""
    await log.bounds("mars")
    (batch,) = await read_batches(log, first=1, last=5)
    assert (batch.entries, batch.through) == ((), 5)


@over_every_log
async def test_gaps_are_stepped_over(log: EventLog) -> None:
    """Deleted entries are not there, at the ends of a range and within."""
    await fill(log, numbered(10))
    for sequence in (1, 4, 5, 10):
        await log.delete("mars", sequence)
    assert sequences(await read_all(log, first=1, last=10)) == [2, 3, 6, 7, 8, 9]
    assert await read_all(log, first=4, last=5) == []


@over_every_log
async def test_batches_are_bounded_in_bytes(log: EventLog) -> None:
    """One entry may exceed the bound; a batch of several does not."""
    await fill(log, [record(payload=b"x" * 1000) for _ in range(100)])
    batches = await read_batches(log, batch_bytes=5000)
    assert sum(len(batch.entries) for batch in batches) == 100
    assert max(sum(len(entry.payload) for entry in batch.entries) for batch in batches) <= 5000
    assert all(len(batch.entries) == 1 for batch in await read_batches(log, batch_bytes=1))


@over_every_log
async def test_headers_are_among_the_bytes_of_a_batch(log: EventLog) -> None:
    """A shape of thousands of points is a header, and the payload beside it may be empty."""
    await fill(log, [record(payload=b"", headers={"shape": "x" * 1000}) for _ in range(100)])
    batches = await read_batches(log, batch_bytes=5000)
    assert sum(len(batch.entries) for batch in batches) == 100
    assert max(len(batch.entries) for batch in batches) <= 5


@over_every_log
async def test_a_reader_may_resume_after_any_batch(log: EventLog) -> None:
    """`through` says up to where nothing else is to come; the last one is the end of the range."""
    await fill(log, [record(payload=b"x" * 100) for _ in range(60)])
    whole = await read_batches(log, first=1, last=55, batch_bytes=700)
    throughs = [batch.through for batch in whole]
    assert throughs == sorted(set(throughs))
    assert throughs[-1] == 55
    for place, batch in enumerate(whole[:-1]):
        rest = await read_all(log, first=batch.through + 1, last=55)
        assert rest == [entry for later in whole[place + 1 :] for entry in later.entries]


@over_every_log
async def test_a_pattern_selects_what_begins_like_it(log: EventLog) -> None:
    """It compares whole tokens."""
    subjects = ["mars.od.1", "mars.od.2.x", "mars.odd.1", "mars.rd.1", "mars.od"]
    await fill(log, [record(subject) for subject in subjects])
    found = await read_all(log, pattern="mars.od.>")
    assert [entry.subject for entry in found] == ["mars.od.1", "mars.od.2.x"]
    assert len(await read_all(log, pattern="mars.>")) == 5
    assert await read_all(log, pattern="mars.none.>") == []


@over_every_log
async def test_a_pattern_compares_tokens_as_they_are_stored(log: EventLog) -> None:
    """Escaped, in any script, large and small letters apart."""
    subjects = ["mars.a%2Eb.1", "mars.a.b", "mars.Grün.1", "mars.grün.1"]
    await fill(log, [record(subject) for subject in subjects])
    assert sequences(await read_all(log, pattern="mars.a%2Eb.>")) == [1]
    assert sequences(await read_all(log, pattern="mars.grün.>")) == [4]


@over_every_log
async def test_a_selected_range_goes_through_to_its_end(log: EventLog) -> None:
    """Also where what the pattern selects ends long before."""
    await fill(log, [record("mars.od.1"), record("mars.od.2"), *numbered(20, "mars.rd.1")])
    batches = await read_batches(log, pattern="mars.od.>")
    assert [sequence for batch in batches for sequence in sequences(batch.entries)] == [1, 2]
    assert batches[-1].through == 22


@over_every_log
async def test_what_is_added_meanwhile_is_not_part_of_a_range(log: EventLog) -> None:
    """A busy producer does not prolong a read."""
    await fill(log, [record(payload=b"x" * 1000) for _ in range(200)])
    seen: list[int] = []
    async with aclosing(log.read("mars", first=1, last=200, batch_bytes=10_000)) as batches:
        async for batch in batches:
            seen += sequences(batch.entries)
            await fill(log, [record(payload=b"y" * 1000) for _ in range(20)])
    assert seen == list(range(1, 201))


@over_every_log
async def test_a_read_ends_though_what_was_to_come_is_deleted(log: EventLog) -> None:
    """The entries that remain come once each; nobody waits for those that are gone."""
    await fill(log, [record(payload=b"x" * 1000) for _ in range(6000)])
    seen: list[int] = []
    async with aclosing(log.read("mars", first=1, last=6000, batch_bytes=100_000)) as batches:
        async for batch in batches:
            if not seen:
                await asyncio.gather(*(log.delete("mars", sequence) for sequence in range(5960, 6001)))
            seen += sequences(batch.entries)
    assert seen == list(range(1, 5960))


@over_every_log
async def test_a_read_ends_though_the_stream_is_wiped(log: EventLog) -> None:
    """What came before is a beginning of what there was."""
    await fill(log, [record(payload=b"x" * 1000) for _ in range(12_000)])
    seen: list[int] = []
    async with aclosing(log.read("mars", first=1, last=12_000, batch_bytes=100_000)) as batches:
        async for batch in batches:
            if not seen:
                await log.wipe("mars")
            seen += sequences(batch.entries)
    assert seen == list(range(1, len(seen) + 1))
    assert 0 < len(seen) < 12_000


@over_every_log
async def test_a_read_may_be_left_early(log: EventLog) -> None:
    """The log goes on, and others read what they want."""
    await fill(log, [record(payload=b"x" * 1000) for _ in range(3000)])
    for _ in range(5):
        async with aclosing(log.read("mars", first=1, last=3000, batch_bytes=10_000)) as batches:
            first = await anext(batches)
            assert sequences(first.entries)[0] == 1
    assert len(await read_all(log)) == 3000


@over_every_log
async def test_several_readers_do_not_disturb_each_other(log: EventLog) -> None:
    """Each gets its own range."""
    await fill(log, numbered(500))
    spans = [(1, 500), (100, 200), (500, 500), (200, 450)]
    results = await asyncio.gather(*(read_all(log, first=first, last=last) for first, last in spans))
    for (first, last), entries in zip(spans, results, strict=True):
        assert sequences(entries) == list(range(first, last + 1))


# --- positions and their epoch ---------------------------------------------------------------------------


@over_every_log
async def test_what_is_asked_of_the_epoch_of_now_is_answered(log: EventLog) -> None:
    """As if no epoch had been named."""
    await fill(log, numbered(3))
    epoch = (await log.bounds("mars")).epoch
    assert sequences(await read_all(log, first=2, last=9, epoch=epoch)) == [2, 3]
    assert await read_batches(log, first=3, last=2, epoch=epoch) == []
    assert sequences(await log.latest("mars", epoch=epoch)) == [3]
    assert await log.seek("mars", 0, epoch=epoch) == 1
    assert await log.seek("mars", 10**24, epoch=epoch) == 4


@over_every_log
async def test_what_is_asked_of_another_epoch_is_refused(log: EventLog) -> None:
    """However little it asks for; the error names both epochs, and whoever names none gets what there is."""
    await fill(log, numbered(3))
    epoch = (await log.bounds("mars")).epoch
    for asking in (
        read_all(log, first=1, last=3, epoch="another"),
        read_all(log, first=1, last=3, pattern="mars.od.>", epoch="another"),
        read_all(log, first=50, last=99, epoch="another"),
        read_all(log, first=3, last=2, epoch="another"),
        log.latest("mars", epoch="another"),
        log.latest("mars", pattern="mars.none.>", epoch="another"),
        log.seek("mars", 0, epoch="another"),
        log.seek("mars", 10**24, epoch="another"),
        read_all(log, "diss", first=1, last=3, epoch="another"),
        log.seek("diss", 0, epoch="another"),
    ):
        with pytest.raises(EpochChanged, match=f"another.*{epoch}|{epoch}.*another|diss|DISS"):
            await asking
    assert sequences(await read_all(log)) == [1, 2, 3]


# --- the latest ------------------------------------------------------------------------------------------


@over_every_log
async def test_the_latest_are_the_last_of_each_subject(log: EventLog) -> None:
    """In the order of their sequences."""
    await fill(log, [record(subject) for subject in ("mars.a", "mars.b", "mars.a", "mars.c", "mars.b")])
    latest = await log.latest("mars")
    assert [(entry.sequence, entry.subject) for entry in latest] == [
        (3, "mars.a"),
        (4, "mars.c"),
        (5, "mars.b"),
    ]


@over_every_log
async def test_the_latest_of_a_pattern(log: EventLog) -> None:
    """Only of the subjects that it selects."""
    await fill(log, [record(subject) for subject in ("mars.a.1", "mars.b.1", "mars.a.2", "mars.a.1")])
    assert sequences(await log.latest("mars", pattern="mars.a.>")) == [3, 4]
    assert await log.latest("mars", pattern="mars.none.>") == []


@over_every_log
async def test_the_latest_of_an_empty_stream(log: EventLog) -> None:
    """There are none, before anything was appended and after all of it was wiped."""
    assert await log.latest("mars") == []
    await fill(log, numbered(3))
    await log.wipe("mars")
    assert await log.latest("mars") == []


@over_every_log
async def test_a_deleted_latest_gives_way_to_the_one_before(log: EventLog) -> None:
    """Or to none."""
    await fill(log, [record("mars.a"), record("mars.b"), record("mars.a")])
    await log.delete("mars", 3)
    assert sequences(await log.latest("mars")) == [1, 2]
    await log.delete("mars", 1)
    assert sequences(await log.latest("mars")) == [2]


@over_every_log
async def test_the_latest_end_though_the_stream_is_busy(log: EventLog) -> None:
    """Each subject is there once, with an entry that was its last while the call ran."""
    subjects = [f"mars.{number}" for number in range(300)]
    await fill(log, [record(subject) for subject in subjects])
    is_over = False

    async def keep_appending() -> None:
        while not is_over:
            await fill(log, [record(subject) for subject in subjects[:50]])

    appending = asyncio.ensure_future(keep_appending())
    latest = await log.latest("mars")
    is_over = True
    await appending
    assert len({entry.subject for entry in latest}) == len(latest)
    assert set(subjects[50:]) <= {entry.subject for entry in latest}
    assert sequences(latest) == sorted(sequences(latest))


# --- seeking ---------------------------------------------------------------------------------------------


@over_every_log
async def test_an_instant_is_found_exactly(log: EventLog) -> None:
    """An entry's own instant leads to it, one nanosecond more to the next."""
    for one in numbered(20):
        await log.append("mars", one)
    entries = await read_all(log)
    for entry, following in zip(entries, [*entries[1:], None], strict=True):
        assert await log.seek("mars", entry.instant) <= entry.sequence
        later = len(entries) + 1 if following is None else following.sequence
        if following is None or following.instant > entry.instant:
            assert await log.seek("mars", entry.instant + 1) == later
            assert await log.seek("mars", entry.instant - 1) <= entry.sequence
    distinct = [e for e, before in zip(entries[1:], entries, strict=False) if e.instant > before.instant]
    assert distinct
    assert [await log.seek("mars", entry.instant) for entry in distinct] == sequences(distinct)


@over_every_log
async def test_an_instant_before_everything_is_the_beginning(log: EventLog) -> None:
    """Also before 1970, and before any that the backend can count."""
    await fill(log, numbered(3))
    await log.delete("mars", 1)
    for instant in (0, -1, -(2**63), -(2**63) - 1, -(10**24)):
        assert await log.seek("mars", instant) == 2


@over_every_log
async def test_an_instant_after_everything_is_what_comes_next(log: EventLog) -> None:
    """Also after any that the backend can count."""
    await fill(log, numbered(3))
    last = (await read_all(log))[-1].instant
    for instant in (last + 1, last + 10**18, 2**63 - 1, 2**63, 10**24):
        assert await log.seek("mars", instant) == 4


@over_every_log
async def test_seeking_in_an_empty_stream_finds_what_comes_next(log: EventLog) -> None:
    """Whether it was always empty or was emptied."""
    assert await log.seek("mars", 0) == 1
    await fill(log, numbered(3))
    await log.wipe("mars")
    assert await log.seek("mars", 0) == 4


@over_every_log
async def test_seeking_steps_over_what_was_deleted(log: EventLog) -> None:
    """The first entry that is stored then is meant."""
    for one in numbered(6):
        await log.append("mars", one)
    entries = await read_all(log)
    for sequence in (3, 4):
        await log.delete("mars", sequence)
    assert await log.seek("mars", entries[2].instant) == 5
    await log.delete("mars", 6)
    assert await log.seek("mars", entries[5].instant) == 7


# --- removing --------------------------------------------------------------------------------------------


@over_every_log
async def test_a_deleted_entry_is_gone(log: EventLog) -> None:
    """The others stay, and its sequence is not given again."""
    await fill(log, numbered(3))
    assert await log.delete("mars", 2)
    assert sequences(await read_all(log)) == [1, 3]
    assert await log.delete("mars", 3)
    assert await log.append("mars", record()) == Appended(4)


@over_every_log
async def test_what_is_not_there_cannot_be_deleted(log: EventLog) -> None:
    """Twice, beyond the ends, without a stream, under a name that no stream has: there is none, and no error."""
    await fill(log, numbered(3))
    await log.delete("mars", 2)
    for sequence in (2, 0, -1, 4, 99, 2**63, LARGEST_NUMBER, LARGEST_NUMBER + 1):
        assert not await log.delete("mars", sequence)
    for base in ("diss", "storms ", "a.b", "*", ">", "", "a\r\nb", "x" * 5000):
        assert not await log.delete(base, 1)
    assert sequences(await read_all(log)) == [1, 3]


@over_every_log
async def test_a_wiped_stream_is_empty_and_counts_on(log: EventLog) -> None:
    """Its sequences are not given again; ids of before are still known."""
    await fill(log, [record(message_id="one"), record(), record()])
    assert await log.wipe("mars")
    bounds = await log.bounds("mars")
    assert (bounds.first, bounds.last, bounds.messages) == (4, 3, 0)
    assert await log.append("mars", record(message_id="one")) == Appended(1, is_duplicate=True)
    assert await log.append("mars", record()) == Appended(4)


@over_every_log
async def test_an_empty_stream_can_be_wiped(log: EventLog) -> None:
    """It is there, so that is no mistake."""
    await log.append("mars", record())
    assert await log.wipe("mars")
    assert await log.wipe("mars")


@over_every_log
async def test_what_is_not_there_cannot_be_wiped(log: EventLog) -> None:
    """Neither a base without a stream nor a name that no stream can have."""
    await log.append("mars", record())
    for base in ("diss", "storms ", "a.b", "*", ">", "", "a\r\nb", "mar", "x" * 5000):
        assert not await log.wipe(base)
    assert (await log.bounds("mars")).messages == 1


@over_every_log
async def test_wiping_one_stream_leaves_the_others(log: EventLog) -> None:
    """Also those whose names begin alike."""
    for base in ("mars", "mars2", "mar"):
        await log.append(base, record(f"{base}.a"))
    await log.wipe("mars")
    assert [(await log.bounds(base)).messages for base in ("mars", "mars2", "mar")] == [0, 1, 1]


@over_every_log
async def test_all_streams_can_be_wiped(log: EventLog) -> None:
    """And go on counting."""
    for base in ("mars", "diss"):
        await fill(log, numbered(2, f"{base}.a"), base)
    await log.wipe_all()
    for base in ("mars", "diss"):
        assert (await log.bounds(base)).messages == 0
        assert await log.append(base, record(f"{base}.a")) == Appended(3)


# --- tails -----------------------------------------------------------------------------------------------


@over_every_log
async def test_a_tail_from_the_beginning_brings_everything(log: EventLog) -> None:
    """What is stored, then what comes."""
    await fill(log, numbered(3))
    epoch = (await log.bounds("mars")).epoch
    async with log.tail("mars", after=0, epoch=epoch) as tail:
        assert sequences(await take(tail, 3)) == [1, 2, 3]
        await fill(log, numbered(2))
        assert sequences(await take(tail, 2)) == [4, 5]


@over_every_log
async def test_a_tail_from_the_end_brings_what_comes(log: EventLog) -> None:
    """And nothing of what was there."""
    await fill(log, numbered(3))
    bounds = await log.bounds("mars")
    async with log.tail("mars", after=bounds.last, epoch=bounds.epoch) as tail:
        await fill(log, numbered(1))
        assert sequences(await take(tail, 1)) == [4]


@over_every_log
async def test_a_tail_from_the_middle_begins_after_its_position(log: EventLog) -> None:
    """The entry of the position is not part of it."""
    await fill(log, numbered(10))
    epoch = (await log.bounds("mars")).epoch
    async with log.tail("mars", after=7, epoch=epoch) as tail:
        assert sequences(await take(tail, 3)) == [8, 9, 10]


@over_every_log
async def test_a_tail_of_an_empty_stream_waits_for_the_first(log: EventLog) -> None:
    """Which may be appended long after it was opened."""
    epoch = (await log.bounds("mars")).epoch
    async with log.tail("mars", after=0, epoch=epoch) as tail:
        coming = asyncio.ensure_future(take(tail, 1))
        await log.append("mars", record())
        assert sequences(await coming) == [1]


@over_every_log
async def test_batches_of_a_tail_say_how_far_they_go(log: EventLog) -> None:
    """Through their last entry, at least; the next begins after that."""
    await fill(log, numbered(500))
    epoch = (await log.bounds("mars")).epoch
    position = 0
    async with log.tail("mars", after=0, epoch=epoch) as tail:
        async for batch in tail:
            assert all(position < sequence <= batch.through for sequence in sequences(batch.entries))
            position = batch.through
            if position == 500:
                break


@over_every_log
async def test_a_tail_brings_entries_whole(log: EventLog) -> None:
    """As a read does: equal in everything."""
    await fill(log, [record("mars.grün.1", b"{}", headers={"a": "b"}, message_id="x"), *numbered(3)])
    epoch = (await log.bounds("mars")).epoch
    async with log.tail("mars", after=0, epoch=epoch) as tail:
        assert await take(tail, 4) == await read_all(log)


@over_every_log
async def test_several_tails_bring_everything_each(log: EventLog) -> None:
    """From wherever they begin."""
    await fill(log, numbered(50))
    epoch = (await log.bounds("mars")).epoch
    async with AsyncExitStack() as stack:
        tails = [
            await stack.enter_async_context(log.tail("mars", after=after, epoch=epoch))
            for after in (0, 0, 25, 50)
        ]
        coming = [
            asyncio.ensure_future(take(tail, count))
            for tail, count in zip(tails, (150, 150, 125, 100), strict=True)
        ]
        await fill(log, numbered(100))
        for entries, after in zip(await asyncio.gather(*coming), (0, 0, 25, 50), strict=True):
            assert sequences(entries) == list(range(after + 1, 151))


@over_every_log
async def test_tails_of_several_streams_are_apart(log: EventLog) -> None:
    """Each brings its own stream's entries."""
    async with AsyncExitStack() as stack:
        tails = {}
        for base in ("mars", "diss"):
            epoch = (await log.bounds(base)).epoch
            tails[base] = await stack.enter_async_context(log.tail(base, after=0, epoch=epoch))
        for base in ("diss", "mars", "diss"):
            await log.append(base, record(f"{base}.a"))
        assert [entry.subject for entry in await take(tails["mars"], 1)] == ["mars.a"]
        assert [entry.subject for entry in await take(tails["diss"], 2)] == ["diss.a", "diss.a"]


@over_every_log
async def test_a_slow_reader_of_a_tail_misses_nothing(log: EventLog) -> None:
    """Far more comes while it is busy than it is sent at a time, and all of it waits for it, in order."""
    epoch = (await log.bounds("mars")).epoch
    async with log.tail("mars", after=0, epoch=epoch) as tail:
        await log.append("mars", record())
        assert sequences(await take(tail, 1)) == [1]
        await fill(log, [record(payload=b"x" * 1000) for _ in range(15_000)])
        assert sequences(await take(tail, 15_000)) == list(range(2, 15_002))


@over_every_log
async def test_a_burst_reaches_a_tail_whole(log: EventLog) -> None:
    """Also one that is all of one subject."""
    epoch = (await log.bounds("mars")).epoch
    async with log.tail("mars", after=0, epoch=epoch) as tail:
        coming = asyncio.ensure_future(take(tail, 2000))
        await fill(log, numbered(2000))
        assert payloads(await coming) == [one.payload for one in numbered(2000)]


@over_every_log
async def test_a_cancelled_reader_goes_on_where_it_was(log: EventLog) -> None:
    """Waiting for an entry is given up often; nothing gets lost by it, however it falls."""
    epoch = (await log.bounds("mars")).epoch
    chance = random.Random(5)  # noqa: S311 (guards nothing)
    seen: list[int] = []
    async with log.tail("mars", after=0, epoch=epoch) as tail:
        appending = asyncio.ensure_future(_append_slowly(log, 300))
        batches = aiter(tail)
        while len(seen) < 300:
            try:
                async with asyncio.timeout(chance.choice((0, 0.001, 0.003, 5))):
                    seen += sequences((await anext(batches)).entries)
            except TimeoutError:
                continue
        await appending
    assert seen == list(range(1, 301))


async def _append_slowly(log: EventLog, count: int) -> None:
    for one in numbered(count):
        await log.append("mars", one)


@over_every_log
async def test_a_tail_goes_on_for_another_loop_over_it(log: EventLog) -> None:
    """It is a place in the stream: whoever iterates anew continues there."""
    await fill(log, numbered(2))
    epoch = (await log.bounds("mars")).epoch
    async with log.tail("mars", after=0, epoch=epoch) as tail:
        assert sequences(await take(tail, 2)) == [1, 2]
        await fill(log, numbered(2))
        async for batch in tail:
            assert sequences(batch.entries)[0] == 3
            break


@over_every_log
async def test_a_position_of_another_epoch_is_refused(log: EventLog) -> None:
    """Its sequences mean nothing here; the error names both epochs."""
    await log.append("mars", record())
    epoch = (await log.bounds("mars")).epoch
    with pytest.raises(EpochChanged, match=f"another.*{epoch}|{epoch}.*another"):
        async with log.tail("mars", after=1, epoch="another"):
            pass


@over_every_log
async def test_a_tail_survives_wiping(log: EventLog) -> None:
    """What was wiped before it got there may be missing; what comes afterwards is not."""
    await fill(log, numbered(3))
    epoch = (await log.bounds("mars")).epoch
    async with log.tail("mars", after=0, epoch=epoch) as tail:
        assert sequences(await take(tail, 3)) == [1, 2, 3]
        await log.wipe("mars")
        await fill(log, numbered(2))
        assert sequences(await take(tail, 2)) == [4, 5]


@over_every_log
async def test_wiped_entries_do_not_come_through_a_tail_that_is_opened_later(log: EventLog) -> None:
    """A tail does not bring what a read would not."""
    epoch = (await log.bounds("mars")).epoch
    async with log.tail("mars", after=0, epoch=epoch):
        await fill(log, numbered(3))
        await log.wipe("mars")
        async with log.tail("mars", after=0, epoch=epoch) as late:
            await log.append("mars", record())
            assert sequences(await take(late, 1)) == [4]


@over_every_log
async def test_deleted_entries_do_not_come_through_a_tail_that_is_opened_later(log: EventLog) -> None:
    """Also where another tail had them; the last of all may be among them."""
    epoch = (await log.bounds("mars")).epoch
    async with log.tail("mars", after=0, epoch=epoch) as first:
        await fill(log, numbered(5))
        assert len(await take(first, 5)) == 5
        for sequence in (1, 3, 5):
            await log.delete("mars", sequence)
        async with log.tail("mars", after=0, epoch=epoch) as late:
            assert sequences(await take(late, 2)) == [2, 4]
            await log.append("mars", record())
            assert sequences(await take(late, 1)) == [6]
            assert sequences(await take(first, 1)) == [6]


@over_every_log
async def test_deletions_do_not_stop_a_tail(log: EventLog) -> None:
    """It steps over what is not there any more."""
    await fill(log, numbered(10))
    epoch = (await log.bounds("mars")).epoch
    for sequence in (1, 5, 10):
        await log.delete("mars", sequence)
    async with log.tail("mars", after=0, epoch=epoch) as tail:
        assert sequences(await take(tail, 7)) == [2, 3, 4, 6, 7, 8, 9]
        await fill(log, numbered(1))
        assert sequences(await take(tail, 1)) == [11]


@over_every_log
async def test_a_tail_from_beyond_the_end_waits_for_its_position(log: EventLog) -> None:
    """Sequences up to it are not part of it, whenever they are given."""
    await fill(log, numbered(2))
    epoch = (await log.bounds("mars")).epoch
    async with log.tail("mars", after=4, epoch=epoch) as tail:
        coming = asyncio.ensure_future(take(tail, 1))
        await fill(log, numbered(3))
        assert sequences(await coming) == [5]
    async with log.tail("mars", after=LARGEST_NUMBER, epoch=epoch) as never:
        waiting = asyncio.ensure_future(take(never, 1))
        await fill(log, numbered(3))
        assert not waiting.done()
        waiting.cancel()


@over_every_log
async def test_leaving_one_tail_leaves_the_others(log: EventLog) -> None:
    """Also in the middle of a batch."""
    await fill(log, numbered(100))
    epoch = (await log.bounds("mars")).epoch
    async with log.tail("mars", after=0, epoch=epoch) as stays:
        async with log.tail("mars", after=0, epoch=epoch) as leaves:
            async for _ in leaves:
                break
        await fill(log, numbered(10))
        assert sequences(await take(stays, 110)) == list(range(1, 111))


@over_every_log
async def test_a_batch_reaches_a_tail_in_order(log: EventLog) -> None:
    """Among what is appended one by one."""
    epoch = (await log.bounds("mars")).epoch
    async with log.tail("mars", after=0, epoch=epoch) as tail:
        coming = asyncio.ensure_future(take(tail, 60))
        await asyncio.gather(
            log.append_atomically("mars", numbered(50, "mars.batch")),
            *(log.append("mars", record("mars.single")) for _ in range(10)),
        )
        entries = await coming
    assert sequences(entries) == list(range(1, 61))
    in_batch = [entry.payload for entry in entries if entry.subject == "mars.batch"]
    assert in_batch == [one.payload for one in numbered(50)]


# --- large and small letters -----------------------------------------------------------------------------


@over_every_log
async def test_bases_are_the_same_in_large_and_small_letters(log: EventLog) -> None:
    """Whatever is done to one spelling is done to the other."""
    await log.append("mars", record("mars.a", b"1"))
    await log.append("MARS", record("MARS.a", b"2"))
    await log.append("Mars", record("Mars.b", b"3"))
    assert (await log.bounds("MaRs")).last == 3
    for base in ("mars", "MARS"):
        assert payloads(await read_all(log, base)) == [b"1", b"2", b"3"]
        assert sequences(await log.latest(base)) == [2, 3]
        assert await log.seek(base, 0) == 1
    assert await log.delete("MARS", 1)
    assert await log.wipe("mArs")
    assert (await log.bounds("mars")).messages == 0


@over_every_log
async def test_patterns_are_those_of_any_spelling_of_the_base(log: EventLog) -> None:
    """Large and small letters are the same in the base, and nowhere else."""
    await log.append("mars", record("mars.a.1"))
    await log.append("MARS", record("MARS.a.2"))
    await log.append("mars", record("mars.A.3"))
    for base in ("mars", "MARS", "Mars"):
        assert sequences(await read_all(log, base, pattern=f"{base}.a.>")) == [1, 2]
        assert sequences(await log.latest(base, pattern=f"{base}.A.>")) == [3]


@over_every_log
async def test_tails_are_those_of_any_spelling_of_the_base(log: EventLog) -> None:
    """One that was opened under one spelling brings what is appended under another."""
    epoch = (await log.bounds("mars")).epoch
    assert (await log.bounds("MARS")).epoch == epoch
    async with log.tail("MARS", after=0, epoch=epoch) as tail:
        await log.append("mars", record("mars.a"))
        await log.append("Mars", record("Mars.a"))
        assert sequences(await take(tail, 2)) == [1, 2]


# --- health ----------------------------------------------------------------------------------------------


@over_every_log
async def test_an_open_log_is_healthy(log: EventLog) -> None:
    """Before and after it was used."""
    assert log.is_healthy
    await fill(log, numbered(3))
    await read_all(log)
    assert log.is_healthy
