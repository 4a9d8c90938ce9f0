"""A CloudEvent whose attributes are headers and whose data is the body (binary mode)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import unquote_to_bytes

from aviso_http.body import header
from aviso_ingest.batch.record import Incoming, check_size
from aviso_ingest.cloudevents.attributes import read_attributes, refused

if TYPE_CHECKING:
    from collections.abc import Iterable

_PREFIX: Final = b"ce-"


def is_binary(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Tell whether a request has an event's attributes in its headers."""
    return any(name.startswith(_PREFIX) for name, _ in headers)


def read_binary(headers: Iterable[tuple[bytes, bytes]], data: bytes) -> Incoming:
    """Return the notification of an event, or refuse it."""
    check_size(data)
    headers = list(headers)
    attributes: dict[str, object] = {}
    for name, value in headers:
        if name.startswith(_PREFIX):
            attribute = name.removeprefix(_PREFIX).decode("latin-1")
            if attribute in attributes:
                raise refused(attribute, "is there twice")
            attributes[attribute] = _text(attribute, value)
    content_type = header(headers, b"content-type")
    if content_type is not None:
        attributes["datacontenttype"] = content_type.decode("latin-1")
    if not data:
        raise refused("data", "is missing: it is the body of the request")
    return read_attributes(attributes, data)


def _text(attribute: str, value: bytes) -> str:
    """Return a value as the binding writes it: percent-encoded UTF-8, in quotes at will."""
    if len(value) > 1 and value[:1] == value[-1:] == b'"':
        value = value[1:-1].replace(b'\\"', b'"').replace(b"\\\\", b"\\")
    try:
        return unquote_to_bytes(value).decode()
    except UnicodeDecodeError as error:
        raise refused(attribute, "is not UTF-8 after percent-decoding") from error
