"""Pods of the cluster publish and subscribe, as themselves, with the released client and by the one address."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from support.deployment import until
from support.installed import EDGE

if TYPE_CHECKING:
    from support.pod_scripts import PodScripts

NUMBERS: Final = 200
# The client sends a token in the clear only where it is told so by an argument; inside a cluster it is meant. Its
# `--from` names the last event that it knows.
LISTEN: Final = (
    'exec aviso --token "$(cat "$AVISO_TOKEN_FILE")" --state-file /tmp/state.json'
    f" --base-url {EDGE} listen --event field_ready --identifier region=north --from 0 --json"
)


def test_the_released_client_hears_what_a_job_publishes(scripts: PodScripts) -> None:
    listener = scripts.start("listener", "-c", LISTEN, account="reader", command=("sh",))
    publishing = scripts.start(
        "publisher",
        "publish.py",
        EDGE,
        "field_ready",
        f"--count={NUMBERS}",
        "--rate=100",
        account="publisher",
    )
    assert len(publishing.result()["accepted"]) == NUMBERS

    def heard() -> list[int]:
        # What the client says about its connection is JSON as well.
        lines = [json.loads(line) for line in listener.output().splitlines() if line.startswith("{")]
        told = [line["payload"]["number"] for line in lines if "payload" in line]
        return told if len(told) >= NUMBERS else []

    assert until(heard, seconds=60, what=listener.output) == list(range(NUMBERS))
    listener.end()


def test_who_may_not_write_is_told_so(scripts: PodScripts) -> None:
    """The account that reads is known, and is not among those that write."""
    publishing = scripts.start("intruder", "publish.py", EDGE, "field_ready", "--count=1", account="reader")
    number, status, text = publishing.refused()
    assert (number, status) == (0, 403), text
    assert "field_ready" in text or "role" in text
