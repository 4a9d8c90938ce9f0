"""An event as it goes out: the CloudEvent of contract section 8, encoded once, whoever receives it.

The payload's bytes are put in as the log holds them, without decoding. What is the same for all events of a type is
prepared in an `Envelope`; the rest is a handful of short texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

import msgspec

from aviso_core.errors import RenderingFailed
from aviso_core.geometry.shapes import PointCloud, Polygon
from aviso_core.instant import to_text

if TYPE_CHECKING:
    from aviso_core.event import Event

TYPE_PREFIX: Final = "int.ecmwf.aviso."
# What stands for itself in one part of a URL's path, besides letters, digits and `-._~`.
_PATH_CHARACTERS: Final = "!$&'()*+,;=:@"

_encode: Final = msgspec.json.Encoder().encode
_encode_sorted: Final = msgspec.json.Encoder(order="deterministic").encode


class Envelope:
    """What all CloudEvents of one event type share. `base_url` is the service's own, as configured."""

    def __init__(self, *, event_type: str, base_url: str) -> None:
        schema_url = f"{normal_url(base_url).rstrip('/')}/schema/{quote(event_type, safe=_PATH_CHARACTERS)}"
        self._head = (
            b'"datacontenttype":"application/json","dataschema":' + _encode(schema_url) + b',"id":"'
            + _encode(event_type)[1:-1] + b"@"
        )  # fmt: skip
        self._type = b',"source":' + _encode(base_url) + b',"specversion":"1.0","time":"'
        self._tail = b'"type":' + _encode(TYPE_PREFIX + event_type) + b"}"

    def render(self, event: Event, *, show_actor: bool = False) -> bytes:
        """Return the CloudEvent of an event as compact JSON, keys in alphabetical order."""
        if event.unreadable:
            raise RenderingFailed(event.unreadable)
        identifier, geometry = _visible_identifier(event)
        sequence = b"%d" % event.sequence
        return b"".join(
            (
                b'{"actor":' + _encode(event.actor) + b"," if show_actor and event.actor else b"{",
                b'"data":{',
                b'"geometry":' + _encode_sorted(geometry) + b"," if geometry else b"",
                b'"identifier":', _encode_sorted(identifier), b',"payload":', event.payload, b"},",
                self._head, sequence, b'",' + _OPERATION_DELETE if event.operation else b'",',
                b'"sequence":', sequence, self._type, to_text(event.instant).encode(),
                b'","traceparent":' + _encode(event.traceparent) + b"," if event.traceparent else b'",',
                self._tail,
            )
        )  # fmt: skip


_OPERATION_DELETE: Final = b'"operation":"delete",'


def _visible_identifier(event: Event) -> tuple[dict[str, Any], dict[str, object] | None]:
    """Return `data.identifier`, and `data.geometry` where one ring does not say it all.

    A value that is empty or `*` reads as "any" in a topic and is left out.
    """
    visible: dict[str, Any] = {
        name: value for name, value in event.identifier.items() if value and value != "*"
    }
    match event.geometry:
        case None:
            return visible, None
        case PointCloud(points):
            visible["point_cloud"] = points
            return visible, None
        case Polygon() as polygon:
            visible["polygon"] = polygon.main_ring()
            return visible, None if polygon.is_plain else polygon.geojson()


def normal_url(text: str) -> str:
    """Return an absolute HTTP(S) URL with lower-case scheme and host and without its scheme's own port."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise RenderingFailed(f"'{text}' is no URL: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise RenderingFailed(f"'{text}' is no absolute HTTP(S) URL")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    own_port = {"http": 80, "https": 443}[parts.scheme]
    login, _, _ = parts.netloc.rpartition("@")
    authority = f"{login}@{host}" if login else host
    if port is not None and port != own_port:
        authority += f":{port}"
    return parts._replace(netloc=authority).geturl()
