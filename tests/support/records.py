"""Reading back what was logged: records written to a file for as long as a block runs."""

from __future__ import annotations

import json
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from aviso_core.settings.model import Logging
from aviso_http.records.counts import RecordCounts
from aviso_http.records.open import open_records

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

RESOURCE = {"service.name": "aviso-server", "service.version": "9.9"}


class Written(list[dict[str, Any]]):
    """The records, once the block has ended."""

    text = ""


@contextmanager
def written_records(
    settings: Logging | None = None,
    *,
    counts: RecordCounts | None = None,
    resource: Mapping[str, str] | None = None,
) -> Iterator[Written]:
    """Give a list that holds all records as soon as the block has ended."""
    written = Written()
    with tempfile.TemporaryFile() as file:
        with open_records(
            settings or Logging(),
            resource=RESOURCE if resource is None else resource,
            counts=counts or RecordCounts(),
            descriptor=file.fileno(),
        ):
            yield written
        file.seek(0)
        written.text = file.read().decode()
    written.extend(json.loads(line) for line in written.text.splitlines())
