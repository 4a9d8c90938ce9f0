"""Plain values → YAML that reads back as the same values, here and by every other reader.

Readers disagree about what a plain word means: `1e3` is a number to some and a text to others, and `no` is a country.
So only what begins with a letter and looks like words stands without quotes, and of that nothing which is more than a
text to anybody.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORDS: Final = re.compile(r"[A-Za-z](?:[A-Za-z0-9_./-]| (?=[A-Za-z0-9]))*", re.ASCII)
_WIDTH: Final = 110


class _Dumper(yaml.SafeDumper):
    """A dumper of its own, so that nobody else's is changed."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent lists below their key, as most people write them."""
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: object) -> bool:
        """Write out what occurs twice."""
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if _WORDS.fullmatch(text) else '"' if not text.isprintable() else "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def yaml_text(mapping: Mapping[str, object]) -> str:
    """Return a mapping as a document; keys stay in their order."""
    text: str = yaml.dump(
        dict(mapping),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        width=_WIDTH,
    )
    return text
