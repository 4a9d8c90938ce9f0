"""In which form a replay is to be answered, by the request's `Accept`.

The forms for machines are given only to who names them and wants nothing else more: every other header, whatever it
says, is answered with the frames that it always was.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Form(Enum):
    """A form of answer, and its media type."""

    FRAMES = b"text/event-stream"
    LINES = b"application/x-ndjson"
    ARROW = b"application/vnd.apache.arrow.stream"


_FORMS: Final = {form.value: form for form in Form}


def form_of(headers: Iterable[tuple[bytes, bytes]]) -> Form:
    """Return the form that is wanted most; of several that are wanted alike, the one that is named first."""
    accept = b",".join(value for name, value in headers if name == b"accept")
    ranges = sorted(_ranges(accept), key=lambda one: -one[1])
    return _FORMS.get(ranges[0][0], Form.FRAMES) if ranges else Form.FRAMES


def _ranges(accept: bytes) -> Iterator[tuple[bytes, float]]:
    """Yield what is accepted, in the header's order, each with its weight."""
    for one in accept.lower().split(b","):
        media, *parameters = (part.strip() for part in one.split(b";"))
        weight = _weight(parameters)
        if media and weight > 0:
            yield media, weight


def _weight(parameters: Iterable[bytes]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition(b"=")
        if name.strip() == b"q":
            try:
                return min(1.0, max(0.0, float(value)))
            except ValueError:
                return 1.0
    return 1.0
