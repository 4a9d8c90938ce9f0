"""What administrators send: ids of stored notifications, and the body that names a stream."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aviso_core.json_text import NotJson
from aviso_ingest.admin.notification_id import InvalidNotificationId, NotificationId, read_notification_id
from aviso_ingest.admin.wipe_request import is_json, read_wanted

FORMAT: Final = "notification_id must be in '<stream>@<sequence>' format"
NO_NUMBER: Final = "notification_id sequence must be a positive integer"
ZERO: Final = "notification_id sequence must be greater than zero"
LARGEST: Final = 2**64 - 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("runs@1", ("runs", 1)),
        ("  runs@1\t\n", ("runs", 1)),
        ("runs @1", ("runs ", 1)),
        ("runs@+007", ("runs", 7)),
        (f"runs@{LARGEST}", ("runs", LARGEST)),
        (f"runs@{'0' * 5000}1", ("runs", 1)),
        ("a.b/c@3", ("a.b/c", 3)),
        ("日@3", ("日", 3)),
    ],
)
def test_an_id_is_a_name_and_a_sequence(text: str, expected: tuple[str, int]) -> None:
    """White space around the whole is let go, and only there."""
    assert read_notification_id(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", FORMAT),
        ("   ", FORMAT),
        ("runs", FORMAT),
        ("runs@", FORMAT),
        ("runs@ ", FORMAT),
        ("@1", FORMAT),
        (" @1", FORMAT),
        ("@", FORMAT),
        ("runs@x", NO_NUMBER),
        ("runs@-1", NO_NUMBER),
        ("runs@ 1", NO_NUMBER),
        ("runs@1.0", NO_NUMBER),
        ("runs@1_0", NO_NUMBER),
        ("runs@0x1", NO_NUMBER),
        ("runs@++1", NO_NUMBER),
        ("runs@+", NO_NUMBER),
        ("runs@1\n2", NO_NUMBER),
        ("runs@٣", NO_NUMBER),
        ("runs@a@1", NO_NUMBER),
        ("runs@@1", NO_NUMBER),
        (f"runs@{LARGEST + 1}", NO_NUMBER),
        (f"runs@{'9' * 5000}", NO_NUMBER),
        ("runs@0", ZERO),
        ("runs@+000", ZERO),
    ],
)
def test_what_is_no_id_is_told(text: str, message: str) -> None:
    """Its form first, then its number; the first `@` divides."""
    with pytest.raises(InvalidNotificationId) as refusal:
        read_notification_id(text)
    assert str(refusal.value) == message


@given(
    name=st.text(min_size=1).filter(lambda name: "@" not in name and name == name.strip()),
    sequence=st.integers(min_value=1, max_value=LARGEST),
    around=st.tuples(st.text(" \t\n"), st.text(" \t\n")),
)
def test_whatever_has_a_name_and_a_sequence_is_read(
    name: str, sequence: int, around: tuple[str, str]
) -> None:
    """Any name without an `@`, any sequence that there can be."""
    assert read_notification_id(f"{around[0]}{name}@{sequence}{around[1]}") == (name, sequence)


def read_or_refuse(text: str) -> NotificationId | str:
    """Return what is read, or the text of the refusal."""
    try:
        return read_notification_id(text)
    except InvalidNotificationId as refusal:
        return str(refusal)


@given(st.text() | st.from_regex(r"[a-z@ ]{0,3}@[+\-_0-9 @]{0,24}"))
def test_any_text_is_an_id_or_is_refused(text: str) -> None:
    """What is read can be written again and names the same; nothing else comes of any text."""
    read = read_or_refuse(text)
    if isinstance(read, str):
        assert read in (FORMAT, NO_NUMBER, ZERO)
        return
    assert 0 < read.sequence <= LARGEST
    assert text.strip().startswith(f"{read.name}@")
    assert read_notification_id(f"{read.name}@{read.sequence}") == read


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        (b"application/json", True),
        (b"Application/JSON; charset=utf-8", True),
        (b"application/vnd.wipe+json", True),
        (b" application/json ", True),
        (b"text/json", True),
        (None, False),
        (b"", False),
        (b"json", False),
        (b"/json", False),
        (b"text/plain", False),
        (b"application/json5", False),
        (b"application/jsonl", False),
        (b"application/x-www-form-urlencoded", False),
    ],
)
def test_a_body_must_say_that_it_is_json(content_type: bytes | None, expected: bool) -> None:
    """Or something that is written in JSON."""
    assert is_json(content_type) is expected


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (b'{"stream_name":"runs"}', "runs"),
        (b' {"other":[1,{"a":null}],"stream_name":" Runs "}\n', " Runs "),
        (b'{"stream_name":"a","stream_name":"b"}', "b"),
        (b'{"stream_name":""}', ""),
        ('{"stream_name":"日"}'.encode(), "日"),
    ],
)
def test_a_body_names_a_stream(body: bytes, name: str) -> None:
    """Other members are not looked at, and the name is taken as it is."""
    assert read_wanted(body) == name


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b'"runs"',
        b'["runs"]',
        b"{}",
        b'{"name":"runs"}',
        b'{"stream_name":null}',
        b'{"stream_name":5}',
        b'{"stream_name":["runs"]}',
        b'{"stream_name":"runs"} x',
        b'{"stream_name":"\\ud800"}',
        b'{"stream_name":"\xff"}',
        b'{"stream_name":"runs","x":"\xff"}',
        b'{"stream_name":"runs","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_what_names_no_stream_is_refused(body: bytes) -> None:
    """Whatever it is, and with words that say why."""
    with pytest.raises(NotJson, match=r"."):
        read_wanted(body)
