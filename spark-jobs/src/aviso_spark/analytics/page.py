"""The report as one HTML file that needs nothing else: no script, no network, no picture but those drawn in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aviso_spark.analytics import sections
from aviso_spark.analytics.markup import Markup, tag, together
from aviso_spark.analytics.style import STYLE
from aviso_spark.analytics.words import instant
from aviso_spark.analytics.world_map import world_map

if TYPE_CHECKING:
    from aviso_spark.analytics.results import Results

# What the page may load: nothing. Should escaping ever fail, a browser still runs and fetches nothing.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(results: Results) -> str:
    """Return the whole file."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="robots", content="noindex"),
        tag("title", f"Notifications: {results.source}"),
        tag("style", Markup(STYLE)),
    )
    body = tag("body", tag("main", _header(results), *_sections(results)))
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _header(results: Results) -> Markup:
    line = f"{results.source} · {results.part} · made {instant(results.made)} UTC"
    return tag("header", tag("h1", "Notifications at a glance"), tag("p", line, class_="soft"))


def _sections(results: Results) -> list[Markup]:
    parts = [sections.tiles(results)]
    if results.coverage is not None:
        parts.append(sections.coverage(results.coverage))
    if results.latencies is not None:
        parts.append(sections.latencies(results.latencies))
    parts.append(sections.gaps(results))
    parts.append(sections.repeats(results.repeats))
    if results.cells:
        note = (
            f"Cells of H3 resolution {results.resolution}, in each the events whose shape has its middle there. "
            "Longitude and latitude are drawn at one scale."
        )
        picture = tag("div", world_map(results.cells), class_="scroll")
        parts.append(sections.section("Where", together([tag("p", note, class_="soft"), picture])))
    parts.append(sections.volumes(results))
    return parts
