"""What `avisod serve` says when it is ready."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from msgspec.structs import replace

from aviso_all_in_one.greeting import UNDECLARED, greeting
from aviso_all_in_one.sample import sample_examples
from aviso_core.plain.secret import Secret
from aviso_core.settings.model import (
    Application,
    Auth,
    JetStream,
    Metrics,
    NotificationBackend,
    Settings,
)

SETTINGS = Settings(
    application=Application(host="127.0.0.1", port=0),
    notification_backend=NotificationBackend(kind="in_memory"),
)


def _commands(text: str) -> list[list[str]]:
    return [shlex.split(line) for line in text.splitlines() if line.lstrip().startswith("curl ")]


def test_a_newcomer_sees_where_to_look_and_what_to_paste(golden: Any) -> None:
    """The whole text, once looked at."""
    golden("avisod-greeting.txt", greeting(SETTINGS, port=8000, examples=sample_examples()))


def test_the_commands_send_the_example() -> None:
    """Watching comes first: who watches later would not see what was published before."""
    (example, *_) = sample_examples()
    watch, publish = _commands(greeting(SETTINGS, port=8000, examples=[example]))
    assert watch[2] == "http://127.0.0.1:8000/api/v1/watch"
    assert json.loads(watch[-1]) == example.filter
    assert publish[2] == "http://127.0.0.1:8000/api/v1/notification"
    assert json.loads(publish[-1]) == example.notification


def test_an_apostrophe_survives_the_shell() -> None:
    example = replace(UNDECLARED, notification={"event_type": "x", "payload": "it's"})
    _, publish = _commands(greeting(SETTINGS, port=1, examples=[example]))
    assert json.loads(publish[-1])["payload"] == "it's"


def test_without_an_example_there_are_links_only() -> None:
    text = greeting(SETTINGS, port=8000)
    assert "http://127.0.0.1:8000/api/v1/schema" in text
    assert "curl" not in text


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("localhost", "http://localhost:81/"),
        ("0.0.0.0", "http://localhost:81/"),  # noqa: S104 (nothing listens in this test)
        ("::", "http://localhost:81/"),
        ("::1", "http://[::1]:81/"),
        ("aviso.example", "http://aviso.example:81/"),
    ],
)
def test_links_can_be_followed_from_this_machine(host: str, address: str) -> None:
    text = greeting(replace(SETTINGS, application=Application(host=host, port=0)), port=81)
    assert f" {address}\n" in text


@pytest.mark.parametrize(
    ("metrics", "link"),
    [
        (Metrics(), None),
        (Metrics(port=9000), None),
        (Metrics(enabled=True, port=9000), "http://127.0.0.1:9000/metrics"),
        (Metrics(enabled=True, port=9000, host="::"), "http://localhost:9000/metrics"),
    ],
)
def test_metrics_are_linked_where_there_are_any(metrics: Metrics, link: str | None) -> None:
    text = greeting(replace(SETTINGS, metrics=metrics), port=1)
    assert ("metrics" in text) is (link is not None)
    assert link is None or link in text


def test_where_callers_must_be_known_commands_carry_a_token_and_never_a_secret() -> None:
    settings = replace(
        SETTINGS,
        auth=Auth(enabled=True, jwt_secret=Secret("correct-horse")),
        notification_backend=NotificationBackend(
            kind="jetstream", jetstream=JetStream(nats_url="nats://u:correct-horse@h")
        ),
    )
    text = greeting(settings, port=1, examples=sample_examples())
    assert all("Authorization: Bearer $TOKEN" in command for command in _commands(text))
    assert "kept by the broker" in text
    assert "correct-horse" not in text
