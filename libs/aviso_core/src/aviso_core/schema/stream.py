"""A schema → the stream that the log should keep for it, and what stands between that and the stream there is.

Pure: the log creates and changes streams, the operator plans, `avisod` shows, and all of them ask here. Numbers are
the broker's: -1 is unlimited, an age of 0 is for ever.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from aviso_core.schema.model import Schema, Storage

Medium: TypeAlias = Literal["file", "memory"]

DEFAULT_DUPLICATE_WINDOW_SECONDS: Final = 120
UNLIMITED: Final = -1


class StreamDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """What the installation says about all streams; a schema's own word goes before it."""

    max_messages: int | None = None
    max_bytes: int | None = None
    max_age_seconds: int | None = None
    replicas: int | None = None
    medium: Medium = "file"
    retention: Literal["limits", "interest"] = "limits"
    discard: Literal["old", "new"] = "old"


class StreamConfiguration(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a stream that we look at; the broker has more, and those are left as they are."""

    name: str
    subjects: tuple[str, ...]
    max_messages: int = UNLIMITED
    max_bytes: int = UNLIMITED
    max_messages_per_subject: int = UNLIMITED
    max_age_seconds: float = 0
    medium: Medium = "file"
    replicas: int = 1
    compression: Literal["none", "s2"] = "none"
    discard: Literal["old", "new"] = "old"
    retention: Literal["limits", "interest", "workqueue"] = "limits"
    duplicate_window_seconds: float = DEFAULT_DUPLICATE_WINDOW_SECONDS


class StreamDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One setting in which the stream there is differs from the one wanted.

    `loses_data` says that the change may remove stored messages at once; `impossible` that the broker refuses it on a
    stream that exists.
    """

    setting: str
    wanted: object
    observed: object
    loses_data: bool = False
    impossible: bool = False

    @property
    def is_spelling(self) -> bool:
        """Whether subjects differ in large and small letters only: a stream keeps the spelling it was made with."""
        wanted, observed = self.wanted, self.observed
        return (
            isinstance(wanted, tuple)
            and isinstance(observed, tuple)
            and [subject.lower() for subject in wanted] == [subject.lower() for subject in observed]
        )

    def __str__(self) -> str:
        """Return the difference as one line."""
        return f"{self.setting}: {self.observed} → {self.wanted}"


def stream_name(base: str) -> str:
    """Return the name of the stream of a topic base."""
    return base.upper()


def wanted_stream(schema: Schema, defaults: StreamDefaults) -> StreamConfiguration:
    """Return the stream that an event type should have."""
    return stream_of_base(schema.base, schema.storage, defaults)


def stream_of_base(base: str, storage: Storage | None, defaults: StreamDefaults) -> StreamConfiguration:
    """Return the stream of a base: the installation's defaults, then what the schema says."""
    own = storage or Storage()
    max_age = _first(own.retention_seconds, defaults.max_age_seconds, 0)
    window = _first(own.duplicate_window_seconds, None, DEFAULT_DUPLICATE_WINDOW_SECONDS)
    medium: Medium = defaults.medium if own.medium is None else "file" if own.medium == "File" else "memory"
    return StreamConfiguration(
        name=stream_name(base),
        subjects=(f"{base}.>",),
        max_messages=_first(own.max_messages, defaults.max_messages, UNLIMITED),
        max_bytes=_first(own.max_bytes, defaults.max_bytes, UNLIMITED),
        max_messages_per_subject=UNLIMITED if own.keep_all else 1,
        max_age_seconds=max_age,
        medium=medium,
        replicas=_first(own.replicas, defaults.replicas, 1),
        compression="s2" if own.compression else "none",
        discard=defaults.discard,
        retention=defaults.retention,
        # The broker refuses a window longer than the age, and what is gone cannot be recognised anyway.
        duplicate_window_seconds=min(window, max_age) if max_age else window,
    )


def duplicate_window_seconds(schema: Schema) -> int:
    """Return for how long the stream of an event type knows an id again, where the installation keeps it as long."""
    return int(wanted_stream(schema, StreamDefaults()).duplicate_window_seconds)


def _first(own: int | None, default: int | None, otherwise: int) -> int:
    return own if own is not None else default if default is not None else otherwise


def differences(wanted: StreamConfiguration, observed: StreamConfiguration) -> tuple[StreamDifference, ...]:
    """Return every setting that differs in meaning, not merely in spelling."""
    return tuple(
        StreamDifference(
            setting=setting,
            wanted=getattr(wanted, setting),
            observed=getattr(observed, setting),
            loses_data=_loses_data(setting, wanted, observed),
            impossible=setting == "medium" or (setting == "retention" and observed.retention == "workqueue"),
        )
        for setting in wanted.__struct_fields__
        if _meaning(setting, getattr(wanted, setting)) != _meaning(setting, getattr(observed, setting))
    )


_LIMITS: Final = ("max_messages", "max_bytes", "max_messages_per_subject", "max_age_seconds")


def _meaning(setting: str, value: object) -> object:
    """Return what a setting's value means: the broker spells "unlimited" in two ways, and one replica too."""
    if setting in _LIMITS and value in (0, UNLIMITED):
        return None
    if setting == "replicas" and value == 0:
        return 1
    return value


def _loses_data(setting: str, wanted: StreamConfiguration, observed: StreamConfiguration) -> bool:
    if setting == "retention":
        return wanted.retention != "limits"
    if setting not in _LIMITS:
        return False
    new, old = _meaning(setting, getattr(wanted, setting)), _meaning(setting, getattr(observed, setting))
    return isinstance(new, int | float) and (not isinstance(old, int | float) or new < old)
