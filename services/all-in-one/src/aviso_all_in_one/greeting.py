"""What `avisod serve` says when it is ready: where to look, and two commands to paste. A function of values."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any, Final

from aviso_all_in_one.sample import Example

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aviso_core.settings.model import Settings

UNDECLARED: Final = Example(
    notification={"event_type": "hello", "identifier": {"name": "world"}, "payload": "first"},
    filter={"event_type": "hello", "identifier": {"name": "world"}},
)
"""What can be sent where nothing is declared."""

# Listening on all of a machine's addresses; somebody on it uses its own name.
_ANY_ADDRESS: Final = ("0.0.0.0", "::")  # noqa: S104 (compared with, not listened on)


def greeting(settings: Settings, *, port: int, examples: Sequence[Example] = ()) -> str:
    """Return the text. `port` is the one that is listened on, which the settings may have left open.

    Without an example there are no commands: what to write depends on the event types.
    """
    url = address(settings.application.host, port)
    lines = [
        f"avisod is ready. {_where_events_are(settings)}",
        "",
        *_links(settings, url),
        *_commands(settings, url, examples),
        "",
        "Ctrl-C stops it.",
    ]
    return "\n".join(lines) + "\n"


def address(host: str, port: int) -> str:
    """Return the address by which somebody on this machine reaches a listener."""
    if host in _ANY_ADDRESS:
        host = "localhost"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _where_events_are(settings: Settings) -> str:
    backend = settings.notification_backend
    if backend.kind == "in_memory":
        return "Events are kept in memory and are gone when it stops."
    return "Events are kept by the broker."


def _links(settings: Settings, url: str) -> Iterator[str]:
    links = {
        "home page": f"{url}/",
        "interface": f"{url}/swagger-ui/",
        "event types": f"{url}/api/v1/schema",
        "readiness": f"{url}/ready",
    }
    metrics = settings.metrics
    if metrics.enabled and metrics.port:
        links["metrics"] = f"{address(metrics.host, metrics.port)}/metrics"
    for name, link in links.items():
        yield f"  {name:<12} {link}"


def _commands(settings: Settings, url: str, examples: Sequence[Example]) -> Iterator[str]:
    if not examples:
        return
    example = examples[0]
    yield ""
    yield "Watch, in a second terminal:"
    yield f"  {curl(f'{url}/api/v1/watch', example.filter, settings, flags='-sN')}"
    yield ""
    yield "Publish, in a third one:"
    yield f"  {curl(f'{url}/api/v1/notification', example.notification, settings, flags='-s')}"
    others = ", ".join(other.event_type for other in examples[1:])
    if others:
        yield ""
        yield f"Served as well: {others}."


def curl(url: str, body: dict[str, Any], settings: Settings, *, flags: str) -> str:
    """Return a command that posts the body; where callers must be known it has their token."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    token = '-H "Authorization: Bearer $TOKEN" ' if settings.auth.enabled else ""
    return f"curl {flags} {url} {token}-d {shlex.quote(text)}"
