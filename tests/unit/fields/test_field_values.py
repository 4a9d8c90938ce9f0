"""The values of each field type, row by row as in contract sections 3.1 and 3.3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
import pytest

from aviso_core.errors import InvalidIdentifier
from aviso_core.fields.base import scalar_text
from aviso_core.fields.calendar_date import DateField
from aviso_core.fields.choice import ChoiceField
from aviso_core.fields.expver import ExpverField
from aviso_core.fields.integer import IntegerField
from aviso_core.fields.polygon import PolygonField
from aviso_core.fields.real import RealField
from aviso_core.fields.text import TextField
from aviso_core.fields.time_of_day import TimeField
from aviso_core.json_text import decode
from aviso_core.schema.event_type import EventType
from aviso_core.schema.model import Schema, Topic

if TYPE_CHECKING:
    from aviso_core.fields import AnyField, ScalarField

# --- 3.1 JSON scalar to text -----------------------------------------------------------------------------

# As it stands in the body → the text that a field sees.
SCALARS: Final = [
    ('"4"', "4"),
    ('" 4 "', " 4 "),  # no trimming
    ('""', ""),
    ('"ü"', "ü"),
    ("4", "4"),
    ("-4", "-4"),
    ("0", "0"),
    ("-0", "0"),  # D32
    ("18446744073709551615", "18446744073709551615"),
    ("-9223372036854775808", "-9223372036854775808"),
    ("100000000000000000000", "100000000000000000000"),  # D32: integers of any size
    ("-9223372036854775809", "-9223372036854775809"),
    ("9" * 4999, "9" * 4999),
    ("-" + "9" * 4999, "-" + "9" * 4999),
    ("4.0", "4.0"),
    ("4.50", "4.5"),
    ("-0.0", "-0.0"),
    ("1e3", "1000.0"),
    ("1E2", "100.0"),
    ("1e-5", "0.00001"),
    ("0.000012", "0.000012"),
    ("1e15", "1000000000000000.0"),
    ("9999999999999998.0", "9999999999999998.0"),
    ("1e16", "1e+16"),
    ("1e-6", "1e-6"),
    ("9.9e-6", "9.9e-6"),
    ("1e-7", "1e-7"),
    ("1.5e300", "1.5e+300"),
    ("-1.5e-300", "-1.5e-300"),
    ("1e100", "1e+100"),
    ("5e-324", "5e-324"),
    ("1e-400", "0.0"),
    ("0.1", "0.1"),
    ("0.30000000000000004", "0.30000000000000004"),
    ("true", "true"),
    ("false", "false"),
]


@pytest.mark.parametrize(("sent", "text"), SCALARS, ids=lambda text: text[:24])
def test_a_json_scalar_becomes_text(sent: str, text: str) -> None:
    assert scalar_text("x", decode(sent.encode())) == text


NO_SCALARS: Final = [
    ("null", "Field 'x' cannot be null"),
    ("[]", "Field 'x' must be a scalar value or constraint object, got array"),
    ('["a"]', "Field 'x' must be a scalar value or constraint object, got array"),
    ("{}", "Field 'x' constraint object is not supported for notify operation"),
    ('{"eq":1}', "Field 'x' constraint object is not supported for notify operation"),
]


@pytest.mark.parametrize(("sent", "message"), NO_SCALARS)
@pytest.mark.parametrize(
    "field", [TextField(name="x"), IntegerField(name="x"), DateField(name="x")], ids=lambda field: field.kind
)
def test_what_is_no_scalar_is_refused_before_the_field_sees_it(
    field: ScalarField, sent: str, message: str
) -> None:
    event_type = EventType(Schema(event_type="a", topic=Topic(base="a", key_order=("x",)), fields=(field,)))
    with pytest.raises(InvalidIdentifier) as caught:
        event_type.announce({"x": decode(sent.encode())})
    assert (caught.value.message, caught.value.details, caught.value.field) == (message, message, "x")


@pytest.mark.parametrize("digits", [4000, 4300, 4301, 9000])
@pytest.mark.parametrize("outside", ["", ', "polygon": "0,0,0,1,1,1,0,0"'], ids=["fast", "beside a polygon"])
def test_an_integer_of_any_length_is_stored_as_plain_text(digits: int, outside: str) -> None:
    """D32, also where Python itself would refuse to convert so many digits."""
    fields: tuple[AnyField, ...] = (TextField(name="x"),)
    if outside:
        fields += (PolygonField(name="polygon"),)
    event_type = EventType(Schema(event_type="a", topic=Topic(base="a", key_order=("x",)), fields=fields))
    body = decode(f'{{"x": {"7" * digits}{outside}}}'.encode())
    assert isinstance(body, dict)
    announced = event_type.announce(body)
    assert type(announced.identifier["x"]) is str
    assert msgspec.json.decode(msgspec.json.encode(announced.identifier)) == {"x": "7" * digits}


# --- 3.3 handlers ----------------------------------------------------------------------------------------

STRING: Final = TextField(name="x")
SHORT: Final = TextField(name="x", max_length=4)
DATE: Final = DateField(name="x")
DASHED: Final = DateField(name="x", canonical_format="%Y-%m-%d")
TIME: Final = TimeField(name="x")
ENUM: Final = ChoiceField(name="x", values=("North", "SOUTH", "7", "true"))
INT: Final = IntegerField(name="x")
SMALL_INT: Final = IntegerField(name="x", minimum=-3, maximum=240)
FLOAT: Final = RealField(name="x")
SMALL_FLOAT: Final = RealField(name="x", minimum=-0.5, maximum=1e3)
EXPVER: Final = ExpverField(name="x")
DEFAULTED: Final = ExpverField(name="x", empty_default="1")
WORD_DEFAULT: Final = ExpverField(name="x", empty_default="TEST")

ACCEPTED: Final[list[tuple[ScalarField, Any, str]]] = [
    # String: any non-empty text, unchanged
    (STRING, "a", "a"),
    (STRING, " a\tb ", " a\tb "),
    (STRING, "*", "*"),
    (STRING, True, "true"),
    (STRING, 4.0, "4.0"),
    (SHORT, "abcd", "abcd"),
    (SHORT, "üü", "üü"),  # four bytes
    (SHORT, "🌍", "🌍"),
    # Date: three forms, one canonical format
    (DATE, "2025-07-06", "20250706"),
    (DATE, "20250706", "20250706"),
    (DATE, 20250706, "20250706"),
    (DATE, "2025-187", "20250706"),
    (DATE, "2025-359", "20251225"),  # day of the year, not month 35
    (DATE, "2025-001", "20250101"),
    (DATE, "2025-365", "20251231"),
    (DATE, "2024-060", "20240229"),
    (DATE, "2024-366", "20241231"),
    (DATE, "2000-366", "20001231"),
    (DATE, "2025-7-6", "20250706"),
    (DATE, "2025-07-6", "20250706"),
    (DATE, "2025-12-1", "20251201"),
    (DATE, "2024-02-29", "20240229"),
    (DATE, "20000229", "20000229"),
    (DATE, "9999-12-31", "99991231"),
    (DASHED, "20250706", "2025-07-06"),
    (DASHED, "2025-7-6", "2025-07-06"),
    (DASHED, "2025-359", "2025-12-25"),
    (DASHED, "0001-001", "0001-01-01"),
    # Time: H, HH, H:MM, HH:MM, HHMM
    (TIME, "0", "0000"),
    (TIME, "7", "0700"),
    (TIME, 7, "0700"),
    (TIME, "12", "1200"),
    (TIME, "23", "2300"),
    (TIME, "9:05", "0905"),
    (TIME, "09:05", "0905"),
    (TIME, "23:59", "2359"),
    (TIME, "1430", "1430"),
    (TIME, 1430, "1430"),
    (TIME, "0000", "0000"),
    # Enum: any case, canonical is the lower case of the input
    (ENUM, "north", "north"),
    (ENUM, "NORTH", "north"),
    (ENUM, "South", "south"),
    (ENUM, 7, "7"),
    (ENUM, True, "true"),
    # Int: 64 bits, sign and leading zeros
    (INT, "4", "4"),
    (INT, 4, "4"),
    (INT, "007", "7"),
    (INT, "+5", "5"),
    (INT, "-0", "0"),
    (INT, "-12", "-12"),
    (INT, "+000", "0"),
    (INT, "9223372036854775807", "9223372036854775807"),
    (INT, "-9223372036854775808", "-9223372036854775808"),
    (INT, "0" * 100 + "9223372036854775807", "9223372036854775807"),
    (SMALL_INT, "-3", "-3"),
    (SMALL_INT, 240, "240"),
    # Float: shortest digits, never an exponent, no trailing `.0`
    (FLOAT, "3.14", "3.14"),
    (FLOAT, "4.0", "4"),
    (FLOAT, 4, "4"),
    (FLOAT, ".5", "0.5"),
    (FLOAT, "5.", "5"),
    (FLOAT, "1e3", "1000"),
    (FLOAT, 1e3, "1000"),
    (FLOAT, "1E+3", "1000"),
    (FLOAT, "+1", "1"),
    (FLOAT, "1e-7", "0.0000001"),
    (FLOAT, 1e-7, "0.0000001"),
    (FLOAT, "-0", "-0"),
    (FLOAT, "-0.0", "-0"),
    (FLOAT, "1e22", "10000000000000000000000"),
    (FLOAT, "0.30000000000000004", "0.30000000000000004"),
    (FLOAT, "0.1000000000000000055511151231257827", "0.1"),
    (FLOAT, "1e-400", "0"),
    (FLOAT, "1e308", "1" + "0" * 308),
    (FLOAT, "00.50", "0.5"),
    (FLOAT, "0" * 400 + "1.5", "1.5"),
    (SMALL_FLOAT, "-0.5", "-0.5"),
    (SMALL_FLOAT, "1e3", "1000"),
    # Expver: unsigned 32-bit integers padded to four, else lower case
    (EXPVER, "1", "0001"),
    (EXPVER, 1, "0001"),
    (EXPVER, "0", "0000"),
    (EXPVER, "00001", "0001"),
    (EXPVER, "12345", "12345"),
    (EXPVER, "4294967295", "4294967295"),
    (EXPVER, "4294967296", "4294967296"),  # no 32-bit integer: its own lower case
    (EXPVER, "004294967296", "004294967296"),
    (EXPVER, "aB1C", "ab1c"),
    (EXPVER, "-1", "-1"),
    (EXPVER, "1.0", "1.0"),
    (EXPVER, "*", "*"),
    (EXPVER, True, "true"),
    (DEFAULTED, "", "0001"),
    (DEFAULTED, "2", "0002"),
    (WORD_DEFAULT, "", "test"),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value", "canonical"), ACCEPTED, ids=repr)
def test_an_accepted_value_has_this_canonical_text(field: ScalarField, value: Any, canonical: str) -> None:
    assert field.canonical(scalar_text("x", value)) == canonical


NO_DATE: Final = "Failed to parse date value for field 'x'"
NO_TIME: Final = "Field 'x' has invalid time format '{}'. Expected: H, HH, HH:MM, or HHMM"
NO_COLON_TIME: Final = "Field 'x' has invalid HH:MM format '{}'. Expected format: HH:MM (e.g., 14:30, 9:05)"
NO_DIGITS_TIME: Final = (
    "Field 'x' has invalid HHMM format '{}'. Expected format: HHMM with exactly 4 digits (e.g., 1430, 0905)"
)
NO_MEMBER: Final = "Field 'x' has invalid value '{}'. Allowed: [North, SOUTH, 7, true]"
NO_INT: Final = "Field 'x' must be a valid integer, got: '{}'"
NO_FLOAT: Final = "Field 'x' must be a valid number, got: '{}'"
NOT_FINITE: Final = "Field 'x' must be a finite number, got: '{}'"
BAD_DIGIT: Final = "invalid digit found in string"
BAD_FLOAT: Final = "invalid float literal"
TOO_LARGE: Final = "number too large to fit in target type"
TOO_SMALL: Final = "number too small to fit in target type"


def _bad_date(text: str) -> str:
    return f"Field 'x' contains invalid date '{text}'. Expected: YYYY-MM-DD, YYYYMMDD, or YYYY-DDD"


# Value, message, details; None where the details are the message itself.
REFUSED: Final[list[tuple[ScalarField, Any, str, str | None]]] = [
    (STRING, "", "Field 'x' cannot be empty", None),
    (SHORT, "", "Field 'x' cannot be empty", None),
    (SHORT, "abcde", "Field 'x' exceeds maximum length of 4 characters, got: 5", None),
    (SHORT, "üüü", "Field 'x' exceeds maximum length of 4 characters, got: 6", None),  # D17: bytes
    (SHORT, 12345, "Field 'x' exceeds maximum length of 4 characters, got: 5", None),
    *(
        (DATE, text, NO_DATE, _bad_date(text))
        for text in (
            "", "*", "today", "2025", "202507", "2025-02-30", "20250230", "2025-02-29", "1900-02-29", "2025-00-01",
            "2025-13-01", "2025-01-00", "2025-01-32", "2025-000", "2025-366", "1900-366", "2024-367", "2025187",
            "20250706T12", "2025-07-06T00:00:00Z", "2025/07/06", "06-07-2025", " 2025-07-06", "2025-07-06 ",
            "2025-07-06\n", "2025-0706", "202507-06", "٢٠٢٥-٠٧-٠٦", "12025-07-06",
            # D34: the reference guesses at these
            "25-01-01", "2025-12", "2025-1", "+2025-01-01", "-2025-01-01", "2025-07", "2025-7",
        )
    ),
    (DATE, 2025, NO_DATE, _bad_date("2025")),
    (DATE, 20250706.0, NO_DATE, _bad_date("20250706.0")),
    *((TIME, text, NO_TIME.format(text), None) for text in ("", "*", "123", "x", "1 ", " 1", "+1", "12345", "12Z")),
    *(
        (TIME, text, NO_COLON_TIME.format(text), None)
        for text in ("12:5", "12:", ":30", ":", "12:00:00", "123:00", "1 :30", "a:bc", "-1:30", "12:３0")
    ),
    *((TIME, text, NO_DIGITS_TIME.format(text), None) for text in ("noon", " 123", "12.5", "+123", "123 ", "12h0")),
    (TIME, "24", "Field 'x' has invalid hours: 24. Hours must be 0-23 in 24-hour format", None),
    (TIME, "24:00", "Field 'x' has invalid hours: 24. Hours must be 0-23 in 24-hour format", None),
    (TIME, "2400", "Field 'x' has invalid hours: 24. Hours must be 0-23 in 24-hour format", None),
    (TIME, "9999", "Field 'x' has invalid hours: 99. Hours must be 0-23 in 24-hour format", None),
    (TIME, "12:60", "Field 'x' has invalid minutes: 60. Minutes must be 0-59", None),
    (TIME, "2360", "Field 'x' has invalid minutes: 60. Minutes must be 0-59", None),
    *((ENUM, text, NO_MEMBER.format(text), None) for text in ("", "*", "east", " north", "north ", "nor")),
    (ENUM, 7.0, NO_MEMBER.format("7.0"), None),
    (ENUM, False, NO_MEMBER.format("false"), None),
    (INT, "", NO_INT.format(""), "cannot parse integer from empty string"),
    *(
        (INT, text, NO_INT.format(text), BAD_DIGIT)
        for text in ("x", "4.0", "4.", " 4", "4 ", "+", "-", "--4", "1_0", "1e3", "0x1", "٤", "*", "1,000")
    ),
    (INT, 4.0, NO_INT.format("4.0"), BAD_DIGIT),
    (INT, True, NO_INT.format("true"), BAD_DIGIT),
    (INT, "9223372036854775808", NO_INT.format("9223372036854775808"), TOO_LARGE),
    (INT, "+" + "9" * 30, NO_INT.format("+" + "9" * 30), TOO_LARGE),
    (INT, decode(b"1" + b"0" * 5000), NO_INT.format("1" + "0" * 5000), TOO_LARGE),
    (INT, "-9223372036854775809", NO_INT.format("-9223372036854775809"), TOO_SMALL),
    (SMALL_INT, "241", "Field 'x' value 241 is outside allowed range [-3, 240]", None),
    (SMALL_INT, "+0241", "Field 'x' value 241 is outside allowed range [-3, 240]", None),
    (SMALL_INT, -4, "Field 'x' value -4 is outside allowed range [-3, 240]", None),
    (FLOAT, "", NO_FLOAT.format(""), "cannot parse float from empty string"),
    *(
        (FLOAT, text, NO_FLOAT.format(text), BAD_FLOAT)
        for text in ("x", ".", "e5", "1e", "1e+", "0x1", " 1", "1 ", "1_0", "1,5", "++1", "*", "1.2.3", "infinit", "٤")
    ),
    (FLOAT, True, NO_FLOAT.format("true"), BAD_FLOAT),
    *(
        (FLOAT, text, NOT_FINITE.format(text), None)
        for text in ("NaN", "nan", "-nan", "inf", "INF", "-inf", "+inf", "Infinity", "-INFINITY", "1e400", "9" * 310)
    ),
    (SMALL_FLOAT, "1000.5", "Field 'x' value 1000.5 is outside allowed range [-0.5, 1000]", None),
    (SMALL_FLOAT, -1, "Field 'x' value -1 is outside allowed range [-0.5, 1000]", None),
    (SMALL_FLOAT, "1e21", "Field 'x' value 1000000000000000000000 is outside allowed range [-0.5, 1000]", None),
    (EXPVER, "", "Field 'x' cannot be empty", None),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value", "message", "details"), REFUSED, ids=lambda part: repr(part)[:48])
def test_a_refused_value_is_refused_with_these_texts(
    field: ScalarField, value: Any, message: str, details: str | None
) -> None:
    with pytest.raises(InvalidIdentifier) as caught:
        field.canonical(scalar_text("x", value))
    assert caught.value.message == message
    assert caught.value.details == (details or message)
    assert caught.value.field == "x"


# --- what the schema endpoint shows (1.6) ----------------------------------------------------------------

OPTIONS: Final[list[tuple[ScalarField, dict[str, object]]]] = [
    (STRING, {"max_length": None}),
    (SHORT, {"max_length": 4}),
    (DATE, {"canonical_format": "%Y%m%d"}),  # D13: the default
    (DASHED, {"canonical_format": "%Y-%m-%d"}),
    (TIME, {}),
    (ENUM, {"values": ["North", "SOUTH", "7", "true"]}),
    (INT, {"range": None}),
    (SMALL_INT, {"range": [-3, 240]}),
    (FLOAT, {"range": None}),
    (SMALL_FLOAT, {"range": [-0.5, 1000.0]}),
    (EXPVER, {"default": None}),
    (DEFAULTED, {"default": "1"}),
]


def test_a_pattern_that_cannot_be_used_is_told_by_its_fault_alone(capfd: pytest.CaptureFixture[str]) -> None:
    """Standard error is for records, which are lines of JSON where a process runs in a cluster."""
    assert list(TextField(name="x", pattern="(?=never seen before)").faults())
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(("field", "options"), OPTIONS, ids=repr)
def test_a_field_shows_its_options_as_configured(field: ScalarField, options: dict[str, object]) -> None:
    assert field.options() == options
