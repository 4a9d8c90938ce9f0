"""What the status of an object claims, and whether what a service serves bears it out.

What a generation declares is told by one number, the largest severity that it allows, which tests only ever raise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

Body: TypeAlias = dict[str, Any]


def key_of(body: Body) -> str:
    """Return `namespace/name`."""
    return f"{body['metadata']['namespace']}/{body['metadata']['name']}"


def condition(body: Body, kind: str) -> Body | None:
    """Return a condition of an object, if it has it for its own generation."""
    for one in body.get("status", {}).get("conditions", []):
        if one["type"] == kind and one["observedGeneration"] == body["metadata"]["generation"]:
            return dict(one)
    return None


def claims_ready(body: Body) -> bool:
    """Tell whether an object says that its own generation is served."""
    ready = condition(body, "Ready")
    return ready is not None and ready["status"] == "True"


def is_refused(reason: str, kind: str = "Ready") -> Callable[[Body], bool]:
    """Return what tells whether a condition is not true of the object's own generation, for this reason."""

    def tells(body: Body) -> bool:
        found = condition(body, kind)
        return found is not None and found["status"] != "True" and found["reason"] == reason

    return tells


def serves(served: Body, body: Body) -> bool:
    """Tell whether a service's schemas allow what an object declares."""
    spec = body["spec"]
    shown = served.get(spec["eventType"])
    return shown is not None and shown["identifier"]["severity"]["range"][1] >= most_severe(spec)


def most_severe(spec: Body) -> int:
    """Return the number by which the generations of an object are told from each other."""
    found: int = next(one for one in spec["identifiers"] if one["name"] == "severity")["int"]["max"]
    return found
