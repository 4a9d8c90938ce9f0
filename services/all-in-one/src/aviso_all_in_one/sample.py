"""The sample event types that come with `avisod`: manifests to serve, and for each an example to paste.

They are data (`samples/`). Each shows something else: an area and a payload with rules, many keys, an object that
moves while its key stays.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

_HERE: Final = Path(__file__).parent / "samples"

SAMPLES_FOLDER: Final = _HERE / "event-types"
"""A folder of manifests, as `--schemas` takes one."""


class Example(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a notification, and that of a watch that would be sent it."""

    notification: dict[str, Any]
    filter: dict[str, Any]

    @property
    def event_type(self) -> str:
        """The event type that both are about."""
        name = self.notification["event_type"]
        assert isinstance(name, str), "the packaged examples are tested"
        return name


def sample_examples() -> tuple[Example, ...]:
    """Return the examples, that of the weather alert first."""
    names = ("weather_alert", "model_output", "moving_storm")
    return tuple(
        msgspec.json.decode((_HERE / "examples" / f"{name}.json").read_bytes(), type=Example)
        for name in names
    )
