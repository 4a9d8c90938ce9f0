"""What a batch request asks for beside its body: its form, the form and length of the answer, all or nothing."""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import parse_qsl

from aviso_core.errors import AvisoError, InvalidRequest
from aviso_http.body import header, whole_header

if TYPE_CHECKING:
    from collections.abc import Iterable

NDJSON: Final = b"application/x-ndjson"
JSON: Final = b"application/json"
CLOUDEVENTS_BATCH: Final = b"application/cloudevents-batch+json"

# Names that others use for the same form.
_ALSO_NDJSON: Final = frozenset(
    {NDJSON, b"application/ndjson", b"application/jsonl", b"application/jsonlines"}
)

_TOKEN: Final = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_QUOTED: Final = rb'"(?:[^"\\]|\\.)*+"'
# One preference up to the next comma that is not within quotes: its name, its value if it has one, and parameters.
_PREFERENCE: Final = re.compile(
    rb'(?:^|,)[ \t]*(?P<name>%b)[ \t]*(?:=[ \t]*(?P<value>%b|%b)[ \t]*)?(?=$|[,;])(?:[^,"]|%b)*+'
    % (_TOKEN, _TOKEN, _QUOTED, _QUOTED)
)


class UnsupportedMediaType(AvisoError):
    """The body is of a form that the endpoint does not take."""

    code = "UNSUPPORTED_MEDIA_TYPE"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Form(Enum):
    """How the records of a body are written."""

    LINES = "lines"
    ARRAY = "array"
    CLOUDEVENTS = "cloudevents"


class Wanted(NamedTuple):
    """One request."""

    form: Form
    answers_in_lines: bool = False
    is_atomic: bool = False
    # Whether only what is not stored has a result.
    is_minimal: bool = False


def read_wanted(headers: Iterable[tuple[bytes, bytes]], query: bytes) -> Wanted:
    """Return what a request asks for, or refuse it before its body is read."""
    return Wanted(
        form=_form_of(media_type(headers)),
        answers_in_lines=accepts_lines(whole_header(headers, b"accept")),
        is_atomic=_read_atomic(query),
        is_minimal=prefers_minimal(whole_header(headers, b"prefer")),
    )


def media_type(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the media type of the body, without parameters."""
    return (header(headers, b"content-type") or b"").partition(b";")[0].strip().lower()


def _form_of(media: bytes) -> Form:
    if media in _ALSO_NDJSON:
        return Form.LINES
    if media == JSON:
        return Form.ARRAY
    if media == CLOUDEVENTS_BATCH:
        return Form.CLOUDEVENTS
    raise UnsupportedMediaType(
        "Content-Type must be application/x-ndjson (one notification per line), application/json (an array), "
        "or application/cloudevents-batch+json"
    )


def accepts_lines(accept: bytes | None) -> bool:
    """Tell whether an answer in lines is asked for: only where it is named, and not after plain JSON."""
    for one in (accept or b"").lower().split(b","):
        media, _, parameters = one.partition(b";")
        if b"q=0" in parameters and not parameters.partition(b"q=0")[2].strip(b".0 "):
            continue
        if media.strip() in _ALSO_NDJSON:
            return True
        if media.strip() == JSON:
            return False
    return False


def prefers_minimal(prefer: bytes | None) -> bool:
    """Tell whether a short answer is preferred (RFC 7240): of several `return` the first counts, others are nothing."""
    for one in _PREFERENCE.finditer(prefer or b""):
        if one["name"].lower() == b"return":
            return (one["value"] or b"").strip(b'"').lower() == b"minimal"
    return False


def _read_atomic(query: bytes) -> bool:
    """Return the last `atomic` of the query, as it is everywhere with members that are there twice."""
    for name, value in reversed(parse_qsl(query.decode("latin-1"), keep_blank_values=True)):
        if name == "atomic":
            match value.lower():
                case "true":
                    return True
                case "false":
                    return False
                case _:
                    raise InvalidRequest("atomic must be true or false", field="atomic")
    return False
