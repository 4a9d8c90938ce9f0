"""Which log level holds: what the configuration says, unless the environment's `RUST_LOG` says otherwise.

Deployments of the reference server set `RUST_LOG`, so it is honoured, but only as far as it names one level for
everything: `info,aviso_server=debug` means info, because the parts that its other directives name are not ours.
"""

from __future__ import annotations

from typing import Final

LEVELS: Final = ("trace", "debug", "info", "warn", "error")


def effective_level(configured: str, rust_log: str) -> str:
    """Return one of `LEVELS`; a configured word that is none of them means info."""
    overriding = [word for word in map(_level, rust_log.split(",")) if word]
    return overriding[-1] if overriding else _level(configured) or "info"


def _level(text: str) -> str:
    """Return the level that a text names, or nothing."""
    word = text.strip().lower()
    return word if word in LEVELS else ""
