"""Topic bases: the first token of every subject, and the name of the log's stream."""

from __future__ import annotations

import re
from typing import Final

from aviso_core.errors import InvalidTopicBase

BASE_GRAMMAR: Final = "[A-Za-z0-9][A-Za-z0-9_-]*"
BASE_RULE: Final = f"topic base must match {BASE_GRAMMAR}"

_BASE: Final = re.compile(BASE_GRAMMAR, re.ASCII)


def is_base(text: str) -> bool:
    """Tell whether a text can be a base."""
    return _BASE.fullmatch(text) is not None


def check_base(event_type: str) -> str:
    """Return an undeclared event type that can serve as its own base."""
    if not is_base(event_type):
        raise InvalidTopicBase(BASE_RULE, field="event_type")
    return event_type
