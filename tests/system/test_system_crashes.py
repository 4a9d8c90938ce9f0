"""Processes are killed under load, with no word beforehand: what was acknowledged is there."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final

import pytest

from support.installed import EDGE

if TYPE_CHECKING:
    from support.installed import Installed
    from support.pod_scripts import PodScripts

COUNT: Final = 600
RATE: Final = 40
STREAMS: Final = 20
_FIRSTS: Final = count(2_000_000, 10_000)


@pytest.mark.parametrize("component", ["nats", "gateway", "ingest"])
def test_nothing_acknowledged_is_lost(event_types: Installed, scripts: PodScripts, component: str) -> None:
    """And streams go on from where they were; a notification whose answer was lost is there once."""
    first = next(_FIRSTS)
    numbers = range(first, first + COUNT)
    begin = event_types.last_sequence("weather_alert") + 1
    following, publishing = scripts.start_traffic(
        component, EDGE, "weather_alert", numbers=numbers, rate=RATE, streams=STREAMS, begin=begin
    )
    event_types.holds_more_than("weather_alert", begin + COUNT // 4)
    leader = event_types.broker_streams()["ALERT"]["cluster"]["leader"] if component == "nats" else None
    victim = event_types.crash(component, pod=leader)
    written = publishing.result(seconds=240)
    assert written["accepted"] == list(numbers)
    told = following.result(seconds=240)
    print(f"{victim}: posted again {written['again']}; {told['ends']} {told['refusals']}")
    assert (told["lost"], told["repeated"], told["out_of_order"]) == (0, 0, 0)
    stored = [
        event["data"]["payload"]["number"] for event in event_types.replayed("weather_alert", first=begin)
    ]
    assert stored == list(numbers)
    event_types.is_whole(component)
