"""Instants and spans: against Python's own calendar as far as it goes, and never an unforeseen error."""

from __future__ import annotations

import contextlib
import datetime
import re
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from aviso_core.errors import InvalidSpan
from aviso_core.event import FromInstant, FromSequence
from aviso_core.instant import (
    MILLISECOND,
    SECOND,
    date_from_days,
    days_from_date,
    days_in_month,
    to_offset_text,
    to_seconds_text,
    to_text,
)
from aviso_core.span import read_date, read_end, read_sequence, read_start

EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
# As far as four digits of a year go.
_FIRST: Final = -62_135_596_800 * SECOND
_LAST: Final = 253_402_300_800 * SECOND - 1
instants: Final = st.one_of(
    st.integers(_FIRST, _LAST),
    st.integers(_FIRST // SECOND, _LAST // SECOND).map(SECOND.__mul__),
    st.integers(_FIRST // MILLISECOND, _LAST // MILLISECOND).map(MILLISECOND.__mul__),
    st.integers(-10 * SECOND, 10 * SECOND),
)
any_text: Final = st.one_of(
    st.text("0123456789+-T:Z.t z", max_size=30),
    st.text(max_size=20),
    st.from_regex(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}"
        r"(\.[0-9]{1,12})?(Z|z|[+-][0-9]{2}:[0-9]{2})?"
    ),
    st.from_regex(r"[+-]?0{0,4}[0-9]{1,22}"),
)


def _python(instant: int) -> datetime.datetime:
    return EPOCH + datetime.timedelta(microseconds=instant // 1000)


@given(instants)
def test_an_instant_is_written_as_python_does(instant: int) -> None:
    """Down to the microsecond; the nanoseconds follow."""
    date = _python(instant)
    to_the_second = (
        f"{date.year:04}-{date.month:02}-{date.day:02}T{date.hour:02}:{date.minute:02}:{date.second:02}"
    )
    assert to_seconds_text(instant) == f"{to_the_second}Z"
    fraction = re.fullmatch(
        re.escape(to_the_second) + r"(?:\.([0-9]{3}|[0-9]{6}|[0-9]{9}))?Z", to_text(instant)
    )
    assert fraction is not None
    assert int((fraction[1] or "0").ljust(9, "0")) == instant % SECOND
    assert to_offset_text(instant) == to_text(instant).removesuffix("Z") + "+00:00"


@given(instants)
def test_an_instants_text_is_read_back(instant: int) -> None:
    for text in (to_text(instant), to_offset_text(instant), to_text(instant).removesuffix("Z")):
        assert read_date(text, name="from_date") == instant
        assert read_date(text.replace("T", " "), name="from_date") == instant
    assert read_date(to_seconds_text(instant), name="from_date") == instant // SECOND * SECOND


@given(st.integers(-(10**9), 10**9))
def test_days_and_dates_are_each_others_inverse(days: int) -> None:
    """Also where no calendar of Python reaches."""
    year, month, day = date_from_days(days)
    assert 1 <= month <= 12
    assert 1 <= day <= days_in_month(year, month)
    assert days_from_date(year, month, day) == days
    if 1 <= year <= 9999:
        assert datetime.date(year, month, day).toordinal() - datetime.date(1970, 1, 1).toordinal() == days


@given(st.datetimes(timezones=st.timezones()))
def test_a_date_with_an_offset_is_the_instant_that_python_means(date: datetime.datetime) -> None:
    offset = date.utcoffset()
    assert offset is not None
    minutes = datetime.timedelta(minutes=offset // datetime.timedelta(minutes=1))
    local = date.replace(tzinfo=datetime.timezone(minutes))
    instant = (local - EPOCH) // datetime.timedelta(microseconds=1) * 1000
    assert read_date(local.isoformat(), name="from_date") == instant
    assert read_date(local.isoformat(sep=" "), name="from_date") == instant


@given(st.integers(0, 2**63), st.integers(0, 5), st.sampled_from(("", "+")))
def test_digits_are_seconds_or_milliseconds_by_their_number(number: int, zeros: int, sign: str) -> None:
    text = f"{sign}{'0' * zeros}{number}"
    instant = number * (SECOND if number < 10**11 else MILLISECOND)
    if number > 8_210_266_876_799_999:
        assert _refused(text)
    else:
        assert read_date(text, name="to_date") == instant


def _refused(text: str) -> bool:
    try:
        read_date(text, name="to_date")
    except InvalidSpan:
        return True
    return False


@given(any_text)
def test_a_sequence_is_an_unsigned_number_of_64_bits(text: str) -> None:
    expected = int(text) if re.fullmatch(r"\+?[0-9]+", text) and int(text) < 2**64 else None
    found = None
    with contextlib.suppress(InvalidSpan):
        found = read_sequence(text, name="from_id")
    assert found == expected


@given(any_text | st.none(), any_text | st.none(), any_text | st.none(), any_text | st.none())
def test_a_span_is_read_or_refused(
    from_id: str | None, from_date: str | None, to_id: str | None, to_date: str | None
) -> None:
    """Nothing but `InvalidSpan` is ever raised, and it names a member that was sent."""
    refusal = _refusal(from_id, from_date, to_id, to_date)
    if refusal is not None:
        sent = {"from_id": from_id, "from_date": from_date, "to_id": to_id, "to_date": to_date}
        assert refusal.field is not None
        assert sent[refusal.field] is not None
        assert refusal.message.startswith((refusal.field, "Cannot specify both"))


def _refusal(
    from_id: str | None, from_date: str | None, to_id: str | None, to_date: str | None
) -> InvalidSpan | None:
    try:
        start = read_start(from_id, from_date)
        read_end(to_id, to_date, start=start if isinstance(start, FromInstant) else FromSequence(7))
    except InvalidSpan as refusal:
        return refusal
    return None
