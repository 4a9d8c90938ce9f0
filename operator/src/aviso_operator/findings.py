"""What one look at an object found and did: everything that its status is made of."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from aviso_core.planning.plan import Concern, Plan, SeenStream
from aviso_core.registry.acknowledgements import Standing
from aviso_core.schema.manifest_parts import ReconcilePolicy
from aviso_core.schema.stream import StreamDifference


class Refusal(msgspec.Struct, frozen=True):
    """Why something was not done: which condition is not so, its reason, and its message."""

    concern: Concern
    reason: str
    message: str


class Live(msgspec.Struct, frozen=True, kw_only=True):
    """The published version, and how every living process stands to it."""

    revision: int
    spec_hash: str
    standings: Mapping[str, Standing]
    # Whether it is what this generation says, and not what stays in force beside it.
    is_current: bool = True
    # How long it has been waited for some of them.
    waited_seconds: float = 0.0


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """One look at one generation of an object."""

    generation: int
    event_type: str
    policy: ReconcilePolicy = "Enforce"
    # What is wrong with the manifest by itself.
    invalid: str | None = None
    plan: Plan | None = None
    # How the stream differed before it was put right, though nobody had changed the object.
    corrected: tuple[StreamDifference, ...] = ()
    # What the broker refused of the plan.
    refused: Refusal | None = None
    # Why there was nobody to ask.
    unreachable: str | None = None
    live: Live | None = None
    stream: SeenStream | None = None
    # How often in a row this has failed, where it has done so too often.
    failures: int | None = None
