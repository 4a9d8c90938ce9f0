"""New gateways replace the old ones under many open streams, and nobody misses or hears twice an event."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Final

from support.installed import EDGE

if TYPE_CHECKING:
    from support.installed import Installed
    from support.pod_scripts import PodScripts

STREAMS: Final = 500
DRAIN_SECONDS: Final = 10  # as in the values
RATE: Final = 4
COUNT: Final = 400
FIRST: Final = 1_000_000


def test_streams_go_on_across_a_rollout(event_types: Installed, scripts: PodScripts) -> None:
    before = set(event_types.ready_pods("gateway"))
    begin = event_types.last_sequence("weather_alert") + 1
    following, publishing = scripts.start_traffic(
        "rollout",
        EDGE,
        "weather_alert",
        numbers=range(FIRST, FIRST + COUNT),
        rate=RATE,
        streams=STREAMS,
        begin=begin,
    )
    event_types.upgrade("gateway.podAnnotations.rolled=once")
    assert not before & set(event_types.ready_pods("gateway"))
    assert len(publishing.result(seconds=240)["accepted"]) == COUNT
    told = following.result(seconds=240)
    print(told["ends"], told["refusals"])
    assert (told["lost"], told["repeated"], told["out_of_order"]) == (0, 0, 0)
    again = told["opened_again"]
    # Each once as a rule: one that comes to an old pod which has not been told to stop yet ends again.
    assert STREAMS <= len(again) < 2 * STREAMS
    by_second = sorted(Counter(map(math.floor, again)).values())
    p99 = by_second[math.ceil(0.99 * len(by_second)) - 1]
    print(f"{len(again)} streams opened again, at most {by_second[-1]} in a second, p99 {p99}")
    assert p99 <= 2 * STREAMS / DRAIN_SECONDS
