"""What is uninstalled leaves event types and history behind, and the next release takes them over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from support.installed import RELEASE_NAMESPACE

if TYPE_CHECKING:
    from support.installed import Installed

LEFT: Final = {"weather-alert", "scene"}


def test_a_second_release_adopts_what_the_first_left(event_types: Installed) -> None:
    before = event_types.replayed("weather_alert")
    assert before
    event_types.uninstall()
    left = event_types.cluster.list("eventschemas", RELEASE_NAMESPACE)
    assert {found["metadata"]["name"] for found in left} == LEFT
    assert event_types.cluster.list("persistentvolumeclaims", RELEASE_NAMESPACE)
    event_types.install()
    event_types.wait("condition=Ready", "eventschemas", "--all", seconds=60)
    assert event_types.replayed("weather_alert") == before
    with event_types.reached() as client:
        answer = client.post(
            "/api/v1/notification",
            json={"event_type": "weather_alert", "identifier": {"region": "south", "severity": "2"}},
        )
    assert answer.status_code == 200, answer.text
    assert len(event_types.replayed("weather_alert")) == len(before) + 1
