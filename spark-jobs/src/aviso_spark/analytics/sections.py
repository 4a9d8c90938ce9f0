"""The sections of the page: what each of the results says, in numbers, tables and words."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from aviso_spark.analytics.heat_map import heat_map
from aviso_spark.analytics.latency_plot import latency_plot, legend
from aviso_spark.analytics.markup import Markup, tag, together
from aviso_spark.analytics.words import clipped, duration, instant, number, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aviso_spark.analytics.results import Coverage, Cut, Latency, RepeatsOfKind, Results

_GOOD: Final = 0.99
_FAIR: Final = 0.9
_SHOWN_ROWS: Final = 10
_KINDS: Final = {
    "id": ("The same event twice", "Rows with one and the same id: an archive must not have any."),
    "content": (
        "The same said again",
        "Identifier, payload and shape are equal: a producer has posted what it had posted before.",
    ),
    "identifier": (
        "The same identifier, another content",
        "Updates look like this where updates are wanted. Counted are the different contents.",
    ),
}


def section(title: str, *content: Markup) -> Markup:
    """Return a section."""
    return tag("section", tag("h2", title), *content)


def tiles(results: Results) -> Markup:
    """Return the headline numbers."""
    return tag("div", *_tiles(results), class_="tiles")


def _tiles(results: Results) -> Iterator[Markup]:
    if results.coverage is not None:
        found = results.coverage
        share = found.share
        mood = "" if share is None else "good" if share >= _GOOD else "warn" if share >= _FAIR else "bad"
        yield _tile(
            percent(share),
            f"of {number(found.expected - found.not_due)} expected and due were announced",
            mood,
        )
        yield _tile(number(found.missing), "missing", "bad" if found.missing else "good")
        yield _tile(number(found.late), "late", "warn" if found.late else "good")
    if results.latencies is not None and results.latencies.rows:
        first = results.latencies.rows[0]
        yield _tile(duration(first.p95), f"95 of 100 events of {first.event_type} came within")
    yield _tile(number(results.events), "events")
    yield _tile(
        number(results.missing_sequences),
        "sequences not there",
        "warn" if results.missing_sequences else "good",
    )
    again = sum(kind.more for kind in results.repeats if kind.kind != "identifier")
    yield _tile(number(again), "announcements repeated", "warn" if again else "good")


def _tile(value: str, told: str, mood: str = "") -> Markup:
    return tag("div", tag("b", value), tag("span", told), class_=f"tile {mood}".strip())


def coverage(found: Coverage) -> Markup:
    """Return what was expected, and what became of it."""
    told = (
        f"Of {number(found.expected)} expected combinations {number(found.seen)} were announced in time, "
        f"{number(found.late)} late; {number(found.missing)} are missing, {number(found.not_due)} not due yet. "
        "Numbers in the picture are percent."
    )
    rows = [
        (
            Markup(tag("td", one.what, class_="what")),
            tag("td", tag("span", one.status, class_=f"tag {one.status}")),
            tag("td", instant(one.due), class_="t"),
            tag("td", instant(one.first_seen), class_="t"),
        )
        for one in found.worst.rows
    ]
    picture = heat_map(found.squares, rows=found.rows.rows, columns=found.days.rows)
    cut = [
        *_left_out(found.rows, "rows, which are covered better"),
        *_left_out(found.days, "days, which are earlier"),
    ]
    notes = [tag("p", text, class_="note") for text in cut]
    listed = _table(("missing and late", "", "due", "first seen"), rows, found.worst) if rows else Markup("")
    return section("Coverage", tag("p", told, class_="soft"), picture, *notes, listed)


def latencies(found: Cut[Latency]) -> Markup:
    """Return how long it took from production to storage."""
    told = "From when data was produced to when its event was stored, by the hour of storage (UTC)."
    rows = [
        (
            tag("td", one.event_type, class_="what"),
            *[_n(number(count)) for count in (one.events, one.unknown, one.early)],
            *[_n(duration(seconds)) for seconds in (one.p50, one.p95, one.p99, one.longest)],
        )
        for one in found.rows
    ]
    heads = ("event type", "#events", "#no instant", "#before it", "#p50", "#p95", "#p99", "#longest")
    plots = [part for one in found.rows if one.points for part in _plot(one)]
    marks = [legend()] if plots else []
    return section("Latency", tag("p", told, class_="soft"), _table(heads, rows, found), *plots, *marks)


def _plot(one: Latency) -> Iterator[Markup]:
    step = timedelta(days=1) if one.is_by_day else timedelta(hours=1)
    yield tag("h3", one.event_type, " by day" if one.is_by_day else " by hour")
    yield tag("div", latency_plot(one.points, step=step, name=one.event_type), class_="scroll")


def gaps(results: Results) -> Markup:
    """Return the sequences that are not there."""
    if not results.gaps.rows:
        return section(
            "Gaps", tag("p", "Every sequence between the first and the last is there.", class_="soft")
        )
    told = (
        f"{number(results.missing_sequences)} sequences in {number(results.gaps.total)} gaps are not there: "
        "the log had replaced or removed them, or they were never archived. archive --audit tells which."
    )
    rows = [
        (
            tag("td", one.event_type, class_="what"),
            *[_n(number(n)) for n in (one.first, one.last, one.missing)],
        )
        for one in results.gaps.rows
    ]
    heads = ("event type", "#from sequence", "#to", "#not there")
    return section("Gaps", tag("p", told, class_="soft"), _table(heads, rows, results.gaps))


def repeats(found: Sequence[RepeatsOfKind]) -> Markup:
    """Return what was announced several times."""
    return section("Repetitions", *[part for kind in found for part in _repeats(kind)])


def _repeats(kind: RepeatsOfKind) -> Iterator[Markup]:
    title, told = _KINDS[kind.kind]
    yield tag("h3", title)
    if not kind.shown.rows:
        yield tag("p", "None.", class_="soft")
        return
    yield tag("p", told, class_="soft")
    rows = [
        (
            tag("td", one.event_type),
            tag("td", clipped(one.what), class_="what"),
            _n(number(one.copies)),
            tag("td", f"{instant(one.first_time)} (#{one.first_sequence})", class_="t"),
            tag("td", f"{instant(one.last_time)} (#{one.last_sequence})", class_="t"),
        )
        for one in kind.shown.rows
    ]
    yield _table(("event type", "what", "#times", "first", "last"), rows, kind.shown)


def volumes(results: Results) -> Markup:
    """Return how much there is of each event type, and where the tables are."""
    rows = [
        (
            tag("td", one.event_type, class_="what"),
            *[_n(number(count)) for count in (one.events, one.retractions)],
            *[tag("td", instant(at), class_="t") for at in (one.first, one.last)],
        )
        for one in results.volumes.rows
    ]
    table = _table(("event type", "#events", "#retractions", "first", "last"), rows, results.volumes)
    note = f"All rows of every table on this page are kept as Parquet in {results.tables}. Instants are UTC."
    return section("Event types", table, tag("p", note, class_="note"))


def _n(text: str) -> Markup:
    return tag("td", text, class_="n")


def _table(heads: Sequence[str], rows: Sequence[Sequence[Markup]], cut: Cut[object]) -> Markup:
    """Return a table; a head that begins with # stands over numbers. What is long is folded after its first rows."""
    drawn = [_rows(heads, rows[:_SHOWN_ROWS])]
    if rows[_SHOWN_ROWS:]:
        summary = tag("summary", f"{number(len(rows) - _SHOWN_ROWS)} more")
        drawn.append(tag("details", summary, _rows(heads, rows[_SHOWN_ROWS:])))
    notes = [tag("p", text, class_="note") for text in _left_out(cut, "rows, which are in the tables")]
    return together([*drawn, *notes])


def _rows(heads: Sequence[str], rows: Sequence[Sequence[Markup]]) -> Markup:
    head = [
        tag("th", name.removeprefix("#"), class_="n" if name.startswith("#") else None, scope="col")
        for name in heads
    ]
    body = tag("tbody", *[tag("tr", *row) for row in rows])
    return tag("div", tag("table", tag("thead", tag("tr", *head)), body), class_="scroll")


def _left_out(cut: Cut[object], what: str) -> Iterator[str]:
    if cut.left_out:
        yield f"Not shown: {number(cut.left_out)} more {what}."
