"""Parts that are installed only on demand, and the refusal of a configuration that asks for one that is not."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from aviso_core.errors import Fault, SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def refuse_missing_exporter(path: str) -> Iterator[None]:
    """Import the exporters inside: where they are not installed, the setting that asks for them is refused."""
    try:
        yield
    except ImportError as error:
        fault = Fault(
            path=path,
            message=f"needs the exporters of OpenTelemetry, and {error.name or 'one of them'} is not installed",
            remedy="install aviso-http[otlp], or switch the export off",
        )
        raise SettingsError([fault]) from error
