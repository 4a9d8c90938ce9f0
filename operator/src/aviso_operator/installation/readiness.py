"""Waiting until every part of an installation says that it is ready, and saying which does not."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, TypeAlias

import urllib3

from aviso_core.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_BETWEEN_LOOKS_SECONDS: Final = 0.5
_ANSWER_SECONDS: Final = 5.0
_LONGEST_REASON: Final = 300

WhyNot: TypeAlias = "Callable[[], str | None]"
"""Looks at a part, and returns why it is not ready, or None."""


def wait_ready(parts: Mapping[str, WhyNot], *, seconds: float, tell: Callable[[str], None]) -> None:
    """Wait until all are ready, or raise `Unavailable` with what each of the others said last."""
    waiting = dict(parts)
    give_up = time.monotonic() + seconds
    while True:
        reasons = {}
        for name, why_not in parts.items():
            if name not in waiting:
                continue
            reason = why_not()
            if reason is None:
                del waiting[name]
                tell(f"{name}: ready")
            else:
                reasons[name] = reason
        if not waiting:
            return
        if time.monotonic() > give_up:
            told = "\n".join(f"{name}: {reason}" for name, reason in reasons.items())
            raise Unavailable(f"not ready after {seconds:.0f} s:\n{told}")
        # Nobody tells when a pod or a name begins to answer: it has to be asked.
        time.sleep(_BETWEEN_LOOKS_SECONDS)


def why_not_answering(http: urllib3.PoolManager, url: str) -> str | None:
    """Return why the answer at an address is not that it is ready."""
    try:
        answer = http.request("GET", url, timeout=_ANSWER_SECONDS)
    except urllib3.exceptions.HTTPError as error:
        return str(error)
    if answer.status == 200:
        return None
    return f"{answer.status} {answer.data[:_LONGEST_REASON].decode(errors='replace').strip()}"
