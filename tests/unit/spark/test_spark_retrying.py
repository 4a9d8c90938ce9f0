"""When something is tried again, and when no more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_aviso.retrying import Attempts, retry_after_seconds


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, 0),
        ("3", 3),
        ("99999", 300),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 60),
        ("Thu, 01 Jan 1970 00:00:10 GMT", 0),
        ("soon", 0),
        ("-1", 0),
        ("1 Jan 10000 00:00:00 GMT", 0),
        ("Mon, 32 Foo 2030 99:99:99", 0),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(value: str | None, seconds: float) -> None:
    """And believed up to a bound; what cannot be read asks for nothing."""
    assert retry_after_seconds(value, now=40) == seconds


_digits = st.text("0123456789", max_size=30)


@given(
    st.text(max_size=40)
    | st.builds("{} Jan {} {}:{}:{} {}".format, _digits, _digits, _digits, _digits, _digits, _digits)
)
def test_no_retry_after_is_an_error(value: str) -> None:
    """Whatever proxies write."""
    assert 0 <= retry_after_seconds(value, now=40) <= 300


def test_pauses_double_up_to_a_bound_with_full_jitter_and_end_before_the_deadline() -> None:
    """Whoever was sent away together does not come back together."""
    now, waited = 0.0, list[float]()

    def wait(seconds: float) -> None:
        nonlocal now
        now += seconds
        waited.append(seconds)

    attempts = Attempts(60, clock=lambda: now, wait=wait, jitter=lambda: 1.0)
    while attempts.pause():
        pass

    assert waited[:8] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10]
    assert sum(waited) < 60
    assert attempts.made == len(waited) + 1
    assert Attempts(60, clock=lambda: now, wait=wait, jitter=lambda: 0.0).pause(5.0)
    assert waited[-1] == 5.0
