"""How whole requests are refused that the other routes do not have: rows for the table of answers."""

from __future__ import annotations

from typing import Final

from aviso_http.body import BodyTooLarge, BodyTooSlow
from aviso_http.encoding import InvalidEncoding, UnknownEncoding
from aviso_http.problems import Row
from aviso_ingest.batch.atomic import Conflict
from aviso_ingest.batch.wanted import UnsupportedMediaType

ROWS: Final = (
    Row(InvalidEncoding, 400, InvalidEncoding.code),
    Row(BodyTooSlow, 408, BodyTooSlow.code, "request_timeout"),
    Row(Conflict, 409, Conflict.code, "conflict"),
    Row(BodyTooLarge, 413, BodyTooLarge.code, "payload_too_large"),
    Row(UnknownEncoding, 415, UnknownEncoding.code, "unsupported_media_type"),
    Row(UnsupportedMediaType, 415, UnsupportedMediaType.code, "unsupported_media_type"),
)
