"""The options of the data source: typed, checked before anything is sent, and refused with what to do instead.

Spark hands options over with their names in lower case; here they are found by any spelling and named as documented.
"""

from __future__ import annotations

import difflib
import math
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias, overload
from urllib.parse import urlsplit

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

Kind: TypeAlias = Literal["write", "read", "stream"]
Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
PositiveSeconds: TypeAlias = Annotated[float, msgspec.Meta(gt=0)]
Format: TypeAlias = Literal["auto", "arrow", "ndjson", "raw"]
PayloadForm: TypeAlias = Literal["text", "variant"]
GeometryForm: TypeAlias = Literal["wkb", "geography", "geojson"]

MOST_BYTES: Final = 1024 * 1024
MOST_RECORDS: Final = 1000


class OptionError(ValueError):
    """An option is wrong; the message names it and says what to do."""


class _Options(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    url: str
    # A path, never the token itself: see `credentials`.
    token_file: str | None = None
    ca_file: str | None = None
    # How long one request may take with all its repetitions.
    deadline_seconds: PositiveSeconds = 60.0


class WriteOptions(_Options, frozen=True, kw_only=True):
    """How rows are written, in a batch or by a stream."""

    # For rows without a column event_type.
    event_type: str | None = None
    # What the ids of rows without one of their own are made within; a stream's default is its query and batch.
    id_scope: str | None = None
    on_reject: Literal["fail", "count"] = "fail"
    in_flight: Annotated[int, msgspec.Meta(ge=1, le=64)] = 2
    batch_bytes: Annotated[int, msgspec.Meta(ge=1024, le=8 * 1024 * 1024)] = MOST_BYTES
    batch_records: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = MOST_RECORDS
    compression: Literal["auto", "zstd", "gzip", "none"] = "auto"
    # The field of the identifier that takes the column geometry.
    geometry_field: str = "polygon"
    # A folder or file, local or of an object store, for the JSON report of a run.
    report: str | None = None
    # Resume even from a point that is older than the service remembers ids for.
    accept_repeats: bool = False
    checkpoint_location: str | None = None


class Forms(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """In which form events are read: what their columns are depends on it alone."""

    format: Format = "auto"
    payload_as: PayloadForm = "text"
    geometry_as: GeometryForm = "wkb"


class _ReadingOptions(_Options, frozen=True, kw_only=True):
    format: Format = "auto"
    # A column payload of JSON text or of VARIANT, and a column geometry of WKB, GEOGRAPHY or GeoJSON text.
    payload_as: PayloadForm = "text"
    geometry_as: GeometryForm = "wkb"
    # Names, separated by commas; nothing is all that the caller may read: of a stream also those that appear later.
    event_types: str = ""
    # Constraints on identifier fields, as JSON, as in a watch or replay request.
    filter: str | None = None
    rows_per_partition: Positive = 100_000
    # Whether a range of which some is held no more is an error, or read as far as it is held.
    fail_on_data_loss: bool = True


class ReadOptions(_ReadingOptions, frozen=True, kw_only=True):
    """Which events are read, once: a range by sequences or by times, its end not later than the head at the start."""

    # Both ends belong to what is read; 1 is the first that there ever was.
    from_sequence: Positive | None = None
    to_sequence: Positive | None = None
    # Dates, of which the end does not belong to what is read: windows that follow each other have nothing in common.
    from_time: str | None = None
    to_time: str | None = None
    # Whether comparisons of a query narrow what is read; Spark refuses that unless it was told to push filters.
    push_down: bool = False


class StreamReadOptions(_ReadingOptions, frozen=True, kw_only=True):
    """Which events a stream reads, and from where on."""

    # "earliest", "latest", a date, or JSON with one of these or a first sequence for each event type.
    starting_offsets: str = "latest"
    max_notifications_per_trigger: Positive | None = None
    # How long a look for news waits for some before it says that there are none.
    wait_seconds: PositiveSeconds = 10.0


Options: TypeAlias = WriteOptions | ReadOptions | StreamReadOptions

_KINDS: Final[Mapping[Kind, type[Options]]] = {
    "write": WriteOptions,
    "read": ReadOptions,
    "stream": StreamReadOptions,
}
_SECRETS: Final = frozenset(
    {"token", "accesstoken", "bearertoken", "password", "secret", "apikey", "authorization", "credentials"}
)
# What Spark itself passes on to every source.
_OF_SPARK: Final = frozenset({"checkpointlocation", "outputmode", "querycolumns"})


@overload
def read_options(given: Mapping[str, str], kind: Literal["write"]) -> WriteOptions: ...
@overload
def read_options(given: Mapping[str, str], kind: Literal["read"]) -> ReadOptions: ...
@overload
def read_options(given: Mapping[str, str], kind: Literal["stream"]) -> StreamReadOptions: ...
def read_options(given: Mapping[str, str], kind: Kind) -> Options:
    """Return the options as what they mean, or refuse the first that is wrong."""
    shape = _KINDS[kind]
    names = {name.lower(): name for name in _names(shape)}
    known = {}
    for key, value in given.items():
        plain = key.lower()
        _refuse_secret(key)
        if plain == "path":
            raise OptionError(f"a path was given ({value!r}): the service is named by option 'url' instead")
        if plain in names:
            known[names[plain]] = value
        elif plain not in _OF_SPARK:
            raise OptionError(_unknown(key, tuple(names.values()), kind))
    try:
        options: Options = msgspec.convert(known, shape, strict=False)
    except msgspec.ValidationError as error:
        raise OptionError(_told(error, shape)) from error
    _check_url(options.url)
    _check_seconds(options)
    if isinstance(options, ReadOptions | StreamReadOptions):
        _check_event_types(options.event_types)
    return options


def read_forms(given: Mapping[str, str]) -> Forms:
    """Return what the columns of a read depend on; all other options are looked at when something is read."""
    names = {name.lower(): name for name in _names(Forms)}
    known = {names[key.lower()]: value for key, value in given.items() if key.lower() in names}
    try:
        return msgspec.convert(known, Forms, strict=False)
    except msgspec.ValidationError as error:
        raise OptionError(_told(error, Forms)) from error


def _names(shape: type[Options | Forms]) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(shape)]


def _refuse_secret(key: str) -> None:
    if key.lower().replace("_", "").replace("-", "").replace(".", "") in _SECRETS:
        raise OptionError(
            f"option '{key}' is refused: options are kept in plans, logs and catalogs, where others read them. "
            "Set AVISO_TOKEN in the environment of driver and executors, or mount a file with the token and name it "
            "in option 'tokenFile'"
        )


def _unknown(key: str, names: tuple[str, ...], kind: Kind) -> str:
    lower = {name.lower(): name for name in names}
    near = difflib.get_close_matches(key.lower().replace("_", ""), lower, n=1, cutoff=0.5)
    what = {"write": "a write", "read": "a batch read", "stream": "a streaming read"}[kind]
    remedy = f"did you mean '{lower[near[0]]}'?" if near else f"there are: {', '.join(names)}"
    return f"option '{key}' is unknown to {what}: {remedy}"


def _told(error: msgspec.ValidationError, shape: type[Options | Forms]) -> str:
    """Return the validator's words with the option's name before them, and what may stand there behind."""
    text = str(error)
    reason, _, where = text.partition(" - at `$.")
    if where:
        name = where.rstrip("`")
        kind = next(one.type for one in msgspec.structs.fields(shape) if one.encode_name == name)
        return f"option '{name}': {reason}{_remedy(msgspec.inspect.type_info(kind))}"
    return text.replace("Object missing required field", "there is no option") + ", which is needed"


def _remedy(kind: msgspec.inspect.Type) -> str:
    match kind:
        case msgspec.inspect.LiteralType(values=values):
            return f"; there are: {', '.join(map(str, values))}"
        case msgspec.inspect.IntType():
            return "; give a whole number"
        case msgspec.inspect.FloatType():
            return "; give a number"
        case msgspec.inspect.BoolType():
            return "; give true or false"
        case msgspec.inspect.UnionType(types=types):
            return _remedy(types[0])
    return ""


def _check_seconds(options: Options) -> None:
    for field in msgspec.structs.fields(options):
        value = getattr(options, field.name)
        if field.name.endswith("_seconds") and not math.isfinite(value):
            raise OptionError(
                f"option '{field.encode_name}' must be a number of seconds such as 60, not {value}"
            )


def _check_event_types(text: str) -> None:
    """Refuse a list without names: everything would be read."""
    if text and not text.replace(",", "").strip():
        raise OptionError(
            f"option 'eventTypes' names none: {text!r}; leave it out to read all that you may read"
        )


def _check_url(url: str) -> None:
    told = "option 'url' must be the address of the service: http://host:port or https://host"
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        # Its words may be a part of a password.
        raise OptionError(f"{told}; its port is a number, and an IPv6 address is in brackets") from None
    if not is_address:
        raise OptionError(told)
    if parts.username is not None or parts.password is not None:
        raise OptionError(
            "option 'url' has credentials in it, which is refused: set AVISO_TOKEN or 'tokenFile' instead"
        )
    if parts.query or parts.fragment:
        raise OptionError("option 'url' is the address of the service alone, without a query")
