"""The page of `analytics`: whatever the results say, it is well formed, shows it as text, and needs nothing else."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import Row

from aviso_spark.analytics.collecting import as_structs
from aviso_spark.analytics.heat_map import Square, colour, heat_map
from aviso_spark.analytics.latency_plot import Point, latency_plot
from aviso_spark.analytics.markup import tag, together
from aviso_spark.analytics.page import page
from aviso_spark.analytics.results import (
    Cell,
    Coverage,
    Cut,
    Gap,
    Latency,
    Repeat,
    RepeatsOfKind,
    Results,
    Volume,
)
from aviso_spark.analytics.words import duration, instant, number, percent
from aviso_spark.analytics.world_map import SHADES, shade, world_map

if TYPE_CHECKING:
    from collections.abc import Sequence

NOON = datetime(2030, 1, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOSTILE = "<script>alert(1)</script>\"'&\x00"


class Reader(HTMLParser):
    """Reads a page, and insists that each element is closed where it belongs."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.names: list[str] = []
        self.texts: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element, and expect its end unless it has none."""
        self.names.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Expect the end of what was opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note a text."""
        self.texts.append(data)


def read(html: str) -> Reader:
    """Return a page as a browser sees it, if it is well formed."""
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


def results(name: str, *, rows: int = 3) -> Results:
    """Return results in which everything that a producer chooses is called so."""
    squares = tuple(
        Square(
            row=name,
            column=f"2030-01-{day:02}",
            expected=4,
            seen=day % 4,
            late=1,
            missing=1,
            not_due=0,
            share=day / 4,
        )
        for day in range(1, 4)
    )
    coverage = Coverage(
        expected=12,
        seen=6,
        late=3,
        missing=3,
        not_due=0,
        squares=squares,
        rows=Cut(rows=(name,), total=1),
        days=Cut(rows=tuple(square.column for square in squares), total=5),
        worst=Cut(rows=(Cell(what=name, status="missing", due=NOON, first_seen=None),), total=7),
    )
    points = tuple(Point(NOON + hour * HOUR, 1.0, 20.0, 300.0) for hour in (0, 1, 5))
    latency = Latency(
        event_type=name,
        events=9,
        unknown=1,
        early=0,
        p50=1.0,
        p95=20.0,
        p99=300.0,
        longest=999.0,
        points=points,
    )
    repeat = Repeat(
        kind="content",
        event_type=name,
        what=name,
        copies=3,
        first_sequence=1,
        last_sequence=9,
        first_time=NOON,
        last_time=NOON,
    )
    return Results(
        source=name,
        part=name,
        made=NOON,
        volumes=Cut(rows=(Volume(event_type=name, events=9, retractions=0, first=NOON, last=None),), total=1),
        events=9,
        coverage=coverage,
        latencies=Cut(rows=(latency,), total=1),
        gaps=Cut(rows=(Gap(event_type=name, epoch=name, first=2, last=4, missing=3),) * rows, total=rows),
        missing_sequences=3 * rows,
        repeats=(
            RepeatsOfKind(kind="id", more=0, shown=Cut()),
            RepeatsOfKind(kind="content", more=2, shown=Cut(rows=(repeat,), total=1)),
            RepeatsOfKind(kind="identifier", more=0, shown=Cut()),
        ),
        cells={"85283473fffffff": 12, "857f1d47fffffff": 1},
        resolution=5,
        tables=name,
    )


def test_what_producers_write_stays_text() -> None:
    """No element and no attribute comes from a name, and the name is shown as it is."""
    hostile, harmless = read(page(results(HOSTILE))), read(page(results("harmless")))
    assert hostile.names == harmless.names
    assert [name for name, _ in hostile.attributes] == [name for name, _ in harmless.attributes]
    assert "script" not in hostile.names
    assert any("<script>alert(1)</script>\"'&\ufffd" in text for text in hostile.texts)


@given(st.text(max_size=40))
def test_a_page_is_well_formed_whatever_names_there_are(name: str) -> None:
    """Each picture is XML by itself, too."""
    html = page(results(name))
    read(html)
    for picture in re.findall(r"<svg.*?</svg>", html, re.DOTALL):
        ET.fromstring(picture)  # noqa: S314  made by us a moment ago


def test_a_page_needs_nothing_from_anywhere() -> None:
    """It names no address, runs nothing, and forbids a browser to do either."""
    html = page(results("plain"))
    reader = read(html)
    assert {"script", "img", "link", "iframe", "object", "image", "use"}.isdisjoint(reader.names)
    assert not [
        name
        for name, _ in reader.attributes
        if name in ("src", "href", "xlink:href") or name.startswith("on")
    ]
    assert not re.search(r"https?:|@import|url\((?!#)", html)
    (policy,) = [value for name, value in reader.attributes if name == "content" and "-src" in (value or "")]
    assert "default-src 'none'" in (policy or "")


def test_a_page_suits_light_dark_and_phones() -> None:
    """By its own style alone; wide pictures scroll in their own frames."""
    html = page(results("plain"))
    assert "prefers-color-scheme: dark" in html
    assert "width=device-width" in html
    assert html.count("{") == html.count("}")


def test_what_is_cut_or_folded_is_told() -> None:
    """Nobody takes a part for the whole."""
    html = page(results("plain", rows=14))
    assert "4 more" in html
    assert "Not shown: 6 more rows" in html
    assert "Not shown: 2 more days" in html


def test_a_page_without_events_says_so() -> None:
    """There are no pictures of nothing."""
    empty = Results(
        source="a",
        part="b",
        made=NOON,
        volumes=Cut(),
        events=0,
        gaps=Cut(),
        missing_sequences=0,
        repeats=tuple(
            RepeatsOfKind(kind=kind, more=0, shown=Cut()) for kind in ("id", "content", "identifier")
        ),
    )
    reader = read(page(empty))
    assert "svg" not in reader.names
    assert "Every sequence between the first and the last is there." in reader.texts


# --- its parts --------------------------------------------------------------------------------------------


@given(st.text(), st.text())
def test_an_element_shows_its_text_and_attributes(text: str, value: str) -> None:
    """What a browser cannot show is replaced by the mark for that; nothing else changes."""
    reader = read(tag("p", text, title=value).replace("\r", ""))
    expected = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", "\ufffd", text.replace("\r", ""))
    assert "".join(reader.texts) == expected
    assert reader.names == ["p"]


def test_markup_is_not_escaped_twice() -> None:
    """An element within another stays one."""
    assert tag("p", tag("b", "<"), "&") == "<p><b>&lt;</b>&amp;</p>"
    assert together([tag("br"), tag("i")]) == "<br><i></i>"


@pytest.mark.parametrize(
    ("share", "told", "name"),
    [
        (1.0, "100 %", "c4"),
        (0.9999, "99.9 %", "c3"),
        (0.5, "50.0 %", "c2"),
        (0.00001, "0.1 %", "c1"),
        (0.0, "0 %", "c0"),
    ],
)
def test_a_share_is_complete_only_when_it_is(share: float, told: str, name: str) -> None:
    """Rounding must not hide what is missing."""
    assert percent(share) == told
    assert colour(share) == name


def test_what_was_not_due_has_no_share() -> None:
    """It is neither good nor bad."""
    assert (percent(None), colour(None)) == ("–", "cn")


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.0123, "12 ms"),
        (1, "1 s"),
        (59.6, "1 min"),
        (61, "1 min 1 s"),
        (3600, "1 h"),
        (90_061, "1 d 1 h"),
        (-2.5, "−2.5 s"),
    ],
)
def test_durations_have_two_units(seconds: float, told: str) -> None:
    """More would be noise, and less would be wrong."""
    assert duration(seconds) == told
    assert number(1234567) == "1,234,567"


def test_squares_show_their_share_and_what_is_late() -> None:
    """Colour is never the only sign, except where all is well."""
    square = Square(row="a", column="2030-01-01", expected=4, seen=1, late=1, missing=2, not_due=0, share=0.5)
    drawn = heat_map([square], rows=["a"], columns=["2030-01-01"])
    assert ">50</text>" in drawn
    assert "<circle" in drawn
    assert "4 expected, 1 in time, 1 late, 2 missing" in drawn


def drawn_lines(points: Sequence[Point]) -> str:
    """Return the plot of these."""
    return latency_plot(points, step=HOUR, name="a")


def test_a_line_breaks_where_there_was_nothing() -> None:
    """Three lines for each part; a lone hour is a point."""
    points = [Point(NOON + hour * HOUR, 1.0, 2.0, 3.0) for hour in (0, 1, 2, 9)]
    drawn = drawn_lines(points)
    assert (drawn.count('class="line'), drawn.count('class="point')) == (3, 3)
    assert drawn_lines(points[:1]).count('class="point') == 3


@pytest.mark.parametrize("seconds", [0.0, 3600.0, 365 * 86_400.0, 2e9])
def test_latencies_of_any_size_have_a_scale(seconds: float) -> None:
    """Also where all are the same, and longer than its last mark."""
    assert "nan" not in drawn_lines([Point(NOON, seconds, seconds, seconds)])


def test_instants_are_shown_in_utc_whatever_the_clock_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark hands them over by that clock, without saying which it is."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        row = Row(event_type="a", events=1, retractions=0, first=datetime(2030, 1, 2, 21), last=None)  # noqa: DTZ001
        (shown,) = as_structs([row], Volume)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert (instant(shown.first), shown.last) == ("2030-01-02 12:00:00", None)


def test_shades_go_from_one_event_to_the_most() -> None:
    """Each is the same factor away from the next."""
    assert (shade(1, 1000), shade(1000, 1000), shade(1, 1)) == (0, SHADES - 1, SHADES - 1)
    assert sorted({shade(events, 1000) for events in range(1, 1001)}) == list(range(SHADES))


def test_a_map_shows_how_many_events_a_cell_has() -> None:
    """With the graticule named."""
    drawn = world_map({"85283473fffffff": 1234})
    assert "1,234 events" in drawn
    assert "° N</text>" in drawn
