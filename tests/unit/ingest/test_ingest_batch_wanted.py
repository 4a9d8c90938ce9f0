"""What a batch request asks for beside its body."""

from __future__ import annotations

import pytest

from aviso_core.errors import InvalidRequest
from aviso_ingest.batch.wanted import Form, UnsupportedMediaType, accepts_lines, prefers_minimal, read_wanted


@pytest.mark.parametrize(
    ("content_type", "form"),
    [
        (b"application/x-ndjson", Form.LINES),
        (b"application/ndjson", Form.LINES),
        (b"application/jsonl", Form.LINES),
        (b"application/json", Form.ARRAY),
        (b"Application/JSON; charset=utf-8", Form.ARRAY),
        (b"application/cloudevents-batch+json", Form.CLOUDEVENTS),
    ],
)
def test_the_content_type_says_how_records_are_written(content_type: bytes, form: Form) -> None:
    """Parameters and capitals are no matter."""
    wanted = read_wanted([(b"content-type", content_type)], b"")
    assert wanted == (form, False, False, False)


@pytest.mark.parametrize(
    "content_type", [b"", b"text/plain", b"application/cloudevents+json", b"application/jsonx", b"*/*"]
)
def test_other_content_types_are_refused(content_type: bytes) -> None:
    """The refusal lists those that there are."""
    with pytest.raises(UnsupportedMediaType, match=r"x-ndjson.*application/json.*cloudevents-batch"):
        read_wanted([(b"content-type", content_type)] if content_type else [], b"")


@pytest.mark.parametrize(
    ("accept", "in_lines"),
    [
        (None, False),
        (b"", False),
        (b"*/*", False),
        (b"application/json", False),
        (b"application/x-ndjson", True),
        (b"APPLICATION/X-NDJSON; q=0.5", True),
        (b"text/html, application/x-ndjson, */*;q=0.1", True),
        (b"application/json, application/x-ndjson", False),
        (b"application/x-ndjson, application/json", True),
        (b"application/x-ndjson;q=0", False),
        (b"application/x-ndjson;q=0.0", False),
        (b"application/json;q=0, application/x-ndjson", True),
    ],
)
def test_an_answer_in_lines_is_asked_for(accept: bytes | None, in_lines: bool) -> None:
    """By its name only: who takes anything gets JSON."""
    assert accepts_lines(accept) is in_lines


@pytest.mark.parametrize(
    ("prefer", "is_minimal"),
    [
        (None, False),
        (b"", False),
        (b"return=minimal", True),
        (b'Return = "MINIMAL"; foo=1', True),
        (b"respond-async, return=minimal", True),
        (b"wait=10, , return=minimal", True),
        (b"return=representation", False),
        (b"return=representation, return=minimal", False),
        (b"return=minimal, return=representation", True),
        (b"returns=minimal", False),
        (b"return", False),
        (b"x; return=minimal", False),
        (b'x="a, return=minimal"', False),
        (b'x="\\", return=minimal"', False),
        (b'x; y="a, b", return=minimal', True),
        (b'return="minimal', False),
        (b'return=""minimal""', False),
        (b"return=minimal return=x", False),
    ],
)
def test_a_short_answer_is_preferred(prefer: bytes | None, is_minimal: bool) -> None:
    """Preferences that nobody knows are passed over, and so is what contradicts the first."""
    assert prefers_minimal(prefer) is is_minimal


@pytest.mark.parametrize(
    ("query", "is_atomic"),
    [
        (b"", False),
        (b"other=true", False),
        (b"atomic=true", True),
        (b"atomic=TRUE&x=1", True),
        (b"atomic=false", False),
        (b"atomic=true&atomic=false", False),
        (b"atomic=perhaps&atomic=true", True),
    ],
)
def test_all_or_nothing_is_asked_for(query: bytes, is_atomic: bool) -> None:
    """The last one counts where there are several."""
    assert read_wanted([(b"content-type", b"application/json")], query).is_atomic is is_atomic


@pytest.mark.parametrize("query", [b"atomic", b"atomic=", b"atomic=1", b"atomic=yes", b"atomic=\xff"])
def test_what_is_neither_is_refused(query: bytes) -> None:
    """Nobody should believe that a batch was stored whole because of a spelling."""
    with pytest.raises(InvalidRequest, match="atomic must be true or false") as refused:
        read_wanted([(b"content-type", b"application/json")], query)
    assert refused.value.field == "atomic"
