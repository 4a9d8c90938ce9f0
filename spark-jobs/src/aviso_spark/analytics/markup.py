"""HTML and SVG out of values: whatever is not markup already is escaped.

What a page shows comes from producers, who may call a thing `<script>`. A text becomes markup in `tag` alone, so there
is no place where escaping could be forgotten.
"""

from __future__ import annotations

from html import escape
from typing import Final

# Elements that have no end in HTML. Everything else is closed by its name, which HTML and SVG both understand.
_WITHOUT_END: Final = frozenset({"meta", "br"})
# XML has no words for these, not even escaped, and a browser shows nothing for them.
_UNSHOWN: Final = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127), "�")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, /, *children: str, **attributes: str | float | None) -> Markup:
    """Return an element. `class_` is `class`, and `stroke_width` is `stroke-width`."""
    given = "".join(
        f' {_attribute(key)}="{shown(value)}"' for key, value in attributes.items() if value is not None
    )
    if name in _WITHOUT_END:
        return Markup(f"<{name}{given}>")
    return Markup(f"<{name}{given}>{together(children)}</{name}>")


def together(children: list[Markup] | tuple[str, ...]) -> Markup:
    """Return parts one behind the other; those that are no markup are escaped."""
    return Markup("".join(one if isinstance(one, Markup) else shown(one) for one in children))


def shown(value: str | float) -> str:
    """Return a value as text that a page shows as it is."""
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return escape(str(value).translate(_UNSHOWN))


def _attribute(key: str) -> str:
    # Of SVG's own, this one is written in one word.
    return "viewBox" if key == "view_box" else key.rstrip("_").replace("_", "-")
