"""Names of a configuration → names that a manifest takes: the nearest there is, always the same for the same name."""

from __future__ import annotations

import re
from typing import Final

from aviso_core.schema.manifest_rules import RESERVED_NAMES

LONGEST_EVENT_TYPE: Final = 63
LONGEST_BASE: Final = 32
LONGEST_IDENTIFIER: Final = 32

_NOT_IN_A_NAME: Final = re.compile(r"[^a-z0-9_]", re.ASCII)
_NOT_IN_A_BASE: Final = re.compile(r"[^a-z0-9_-]", re.ASCII)
_NOT_IN_AN_OBJECT: Final = re.compile(r"[^a-z0-9-]+", re.ASCII)


def event_type_name(name: str) -> str:
    """Return the nearest event type."""
    return _beginning_with_a_letter(_NOT_IN_A_NAME.sub("_", name.lower()), "e")[:LONGEST_EVENT_TYPE]


def base_name(base: str) -> str:
    """Return the nearest topic base."""
    return _beginning_with_a_letter(_NOT_IN_A_BASE.sub("_", base.lower()), "t")[:LONGEST_BASE]


def identifier_name(name: str) -> str:
    """Return the nearest identifier; a word that means something else among identifiers gets a `_` behind it."""
    near = _beginning_with_a_letter(_NOT_IN_A_NAME.sub("_", name.lower()), "i")[:LONGEST_IDENTIFIER]
    return f"{near}_" if near in RESERVED_NAMES else near


def object_name(event_type: str) -> str:
    """Return the name of the resource of an event type; a cluster takes no `_` there."""
    return _NOT_IN_AN_OBJECT.sub("-", event_type.replace("_", "-")).strip("-")


def _beginning_with_a_letter(name: str, letter: str) -> str:
    return name if name[:1].isalpha() else f"{letter}{name}"
