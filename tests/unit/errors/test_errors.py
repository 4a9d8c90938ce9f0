"""The tree of errors: codes that clients read, and what a refusal and a list of faults say."""

from __future__ import annotations

import inspect
from typing import Final

import pytest

from aviso_core import errors
from aviso_core.errors import (
    AvisoError,
    Fault,
    Faulty,
    InvalidRequest,
    Refusal,
    SchemaError,
    UnknownEventType,
)

# The code on the wire of every refusal: contract section 2.2. Those of `INVALID_REQUEST` get the operation's name.
CODES: Final = {
    "InvalidJson": "INVALID_JSON",
    "UnknownField": "UNKNOWN_FIELD",
    "InvalidRequestShape": "INVALID_REQUEST_SHAPE",
    "UnknownEventType": "UNKNOWN_EVENT_TYPE",
    "InvalidRequest": "INVALID_REQUEST",
    "InvalidIdentifier": "INVALID_REQUEST",
    "InvalidConstraint": "INVALID_REQUEST",
    "InvalidGeometry": "INVALID_REQUEST",
    "InvalidSpan": "INVALID_REQUEST",
    "InvalidTopicBase": "INVALID_REQUEST",
    "PayloadRefused": "INVALID_REQUEST",
}


def _classes() -> dict[str, type[AvisoError]]:
    return {
        name: one
        for name, one in vars(errors).items()
        if inspect.isclass(one) and issubclass(one, AvisoError)
    }


def test_refusals_have_stable_codes() -> None:
    refusals = {
        name: one.code for name, one in _classes().items() if issubclass(one, Refusal) and one is not Refusal
    }
    assert refusals == CODES


def test_every_error_is_in_one_tree_with_a_code() -> None:
    for one in _classes().values():
        assert one.code.isupper()
        assert one.__doc__


@pytest.mark.parametrize(
    ("refusal", "message", "details", "field"),
    [
        (Refusal("m"), "m", "m", None),
        (Refusal("m", details="d"), "m", "d", None),
        (Refusal("m", details="", field="f"), "m", "", "f"),
        (InvalidRequest("m", field="f"), "m", "m", "f"),
        (UnknownEventType("x", ["b", "a"]), "unknown event type 'x'", "unknown event type 'x'", "event_type"),
    ],
)
def test_a_refusal_has_one_level_unless_it_is_told_otherwise(
    refusal: Refusal, message: str, details: str, field: str | None
) -> None:
    assert (refusal.message, refusal.details, refusal.field) == (message, details, field)
    assert str(refusal) == message


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        (Fault(path="a.b", message="is wrong", remedy="mend it"), "a.b: is wrong (mend it)"),
        (Fault(path="a.b", message="is wrong"), "a.b: is wrong"),
        (Fault(path="", message="is wrong", remedy="mend it"), "is wrong (mend it)"),
    ],
)
def test_a_fault_is_one_line(fault: Fault, line: str) -> None:
    assert str(fault) == line


def test_faults_are_raised_together_in_reading_order() -> None:
    faults = [Fault(path="b", message="first"), Fault(path="a", message="second")]
    error = SchemaError(iter(faults))
    assert error.faults == tuple(faults)
    assert str(error) == "b: first\na: second"


def test_an_error_without_a_fault_is_a_bug() -> None:
    with pytest.raises(AssertionError):
        Faulty([])
