"""What somebody else has, what was changed by hand, and how much the operator may do about it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

from support.claims import condition, is_refused
from support.installations import Installation, declared, fresh_names, identity, severe, until
from support.operators import Operator, running_operator

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.apiserver import ApiServer
    from support.claims import Body
    from support.installations import Names
    from support.nats import Server

_RESYNC_SECONDS: Final = 1
# What is declared where nothing else is said, in nanoseconds as the broker counts.
_DAY: Final = 24 * 3600 * 10**9
_WEEK: Final = 7 * _DAY
_RESYNCED: Final = re.compile(rb'"event.name":"operator.resync.finished"')


def message_of(body: Body, kind: str) -> str:
    """Return what a condition says."""
    found = condition(body, kind)
    assert found is not None, f"there is no {kind}: {body['status']}"
    message: str = found["message"]
    return message


# --- what somebody else has ------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["topic base", "event type"])
def test_who_comes_second_is_told_who_has_it_and_gets_it_when_that_one_goes(
    installation: Installation, what: str
) -> None:
    """Of two objects that want the same, the later is not accepted and names the other.

    When that one is deleted, the later is ready; a stream that the other has left behind it takes over when told to.
    """
    first, second = fresh_names(), fresh_names()
    shared = {"topic": declared(first)["topic"]} if what == "topic base" else {"eventType": first.event_type}
    kept = installation.live_with(1, first)
    installation.objects.create(second.name, declared(second) | shared)
    body = installation.observer.wait(
        installation.key(second), is_refused("Conflicted", "Accepted"), "in conflict"
    )
    assert installation.key(first) in message_of(body, "Accepted")
    assert what in message_of(body, "Accepted")
    assert condition(body, "Stalled") is not None
    assert installation.notify(first, 2) == 200
    installation.objects.delete(first.name)
    if what == "topic base":
        # The stream still belongs to the one that was deleted, and says so.
        body = installation.observer.wait(
            installation.key(second), is_refused("ForeignStream"), "told of the stream"
        )
        assert installation.key(first) in message_of(body, "StreamReady")
        assert identity(installation.stream(first))[0] == kept[0]
        annotate(installation, second, first.stream)
    installation.wait_ready(second)
    if what == "topic base":
        assert identity(installation.stream(first))[0] == kept[0]


def test_a_stream_that_was_there_before_is_taken_over_only_when_that_is_said(
    installation: Installation,
) -> None:
    """A stream that nobody has stamped is left alone; with the annotation it is adopted, with all that it holds."""
    names = fresh_names()
    by_hand = {"name": names.stream, "subjects": [f"{names.base}.>"], "storage": "file", "max_age": _WEEK}
    assert "error" not in installation.ask_broker(f"STREAM.CREATE.{names.stream}", by_hand)
    before = installation.stream(names)
    installation.create(names)
    body = installation.observer.wait(installation.key(names), is_refused("ForeignStream"), "told of it")
    assert names.stream in message_of(body, "StreamReady")
    assert "aviso.dev/adopt-stream" in message_of(body, "StreamReady")
    assert condition(body, "Propagated")["reason"] == "NotPublished"  # type: ignore[index]  # it is always there
    assert installation.notify(names, 1) == 400
    annotate(installation, names, names.stream)
    installation.wait_ready(names)
    after = installation.stream(names)
    assert before is not None
    assert after is not None
    assert after["created"] == before["created"]
    assert after["config"]["metadata"]["aviso.dev/owner"] == installation.key(names)
    assert installation.notify(names, 1) == 200


def test_what_would_delete_events_is_refused_until_it_is_meant(installation: Installation) -> None:
    """An object that is made again with less room than its stream has is told what that costs, and is served.

    With `shrink: Allow` the stream shrinks.
    """
    names = fresh_names()
    kept = installation.live_with(1, names, storage={"retention": "7d"})
    installation.objects.delete(names.name)
    installation.wait_withdrawn(names)
    smaller = {"retention": "1d", "maxMessages": 10}
    installation.create(names, severity=6, storage=smaller)
    body = installation.observer.wait(
        installation.key(names), is_refused("WouldLoseData", "StreamReady"), "told what it costs"
    )
    assert "spec.storage.shrink: Allow" in message_of(body, "StreamReady")
    until(lambda: installation.notify(names, 6) == 200, "it is not served")
    found = installation.stream(names)
    assert found is not None
    assert found["config"]["max_msgs"] == 10, "nothing is lost by it"
    assert found["config"]["max_age"] == _WEEK
    assert found["created"] == kept[0]
    installation.objects.patch(names.name, {"spec": {"storage": {"shrink": "Allow"}}})
    installation.wait_ready(names)
    found = installation.stream(names)
    assert found is not None
    assert found["config"]["max_age"] == _DAY
    assert found["created"] == kept[0]


# --- how much it may do ----------------------------------------------------------------------------------


@pytest.fixture
def watchful(
    operator_folder: Path, server: ApiServer, broker: Server, alone: Installation
) -> Iterator[Operator]:
    """Run an operator that looks at everything every second."""
    arguments = (
        f"--namespace={alone.objects.namespace}",
        f"--resync-seconds={_RESYNC_SECONDS}",
        "--log-level=debug",
    )
    with running_operator(operator_folder, server.kubeconfig, broker.url, *arguments) as operator:
        yield operator


def test_one_that_only_observes_says_what_it_would_do(alone: Installation, watchful: Operator) -> None:
    """With `Observe` no stream is made, and one that was changed by hand is shown and left as it is."""
    names = fresh_names()
    alone.create(names, reconcilePolicy="Observe")
    body = alone.observer.wait(alone.key(names), is_refused("ObserveOnly"), "only observed")
    assert f"create stream {names.stream}" in message_of(body, "StreamReady")
    assert alone.stream(names) is None
    enforced(alone, names)
    created = identity(alone.stream(names))[0]
    alone.objects.patch(names.name, {"spec": {"reconcilePolicy": "Observe"}})
    alone.wait_ready(names)
    alone.change_stream(names, max_msgs=7)
    body = alone.observer.wait(alone.key(names), is_refused("ObserveOnly"), "told of the difference")
    assert "max_messages" in message_of(body, "Drifted") or "maxMessages" in message_of(body, "Drifted")
    # It was looked at again, and still nothing was done.
    watchful.wait_next_logged(_RESYNCED)
    watchful.wait_next_logged(_RESYNCED)
    assert alone.settings(names)["max_msgs"] == 7
    enforced(alone, names)
    assert alone.settings(names)["max_msgs"] == -1
    assert identity(alone.stream(names))[0] == created


def test_one_that_is_paused_is_left_alone(alone: Installation, watchful: Operator) -> None:
    """With `Paused` nothing is done and nothing claimed; what was served is served on as it was."""
    names = fresh_names()
    alone.create(names)
    alone.wait_ready(names)
    alone.objects.patch(names.name, {"spec": {"reconcilePolicy": "Paused", **severe(9)["spec"]}})
    alone.observer.wait(alone.key(names), is_refused("Paused"), "paused")
    alone.change_stream(names, max_msgs=7)
    watchful.wait_next_logged(_RESYNCED)
    watchful.wait_next_logged(_RESYNCED)
    assert alone.settings(names)["max_msgs"] == 7
    assert alone.notify(names, 5) == 200
    assert alone.notify(names, 9) == 400
    enforced(alone, names)
    assert alone.settings(names)["max_msgs"] == -1
    assert alone.notify(names, 9) == 200


def test_a_setting_that_was_changed_by_hand_is_put_right_and_told(
    alone: Installation, watchful: Operator
) -> None:
    """The stream is as declared again, nothing is lost, the status says what was corrected, and it is counted."""
    names = fresh_names()
    kept = alone.live_with(1, names, storage={"maxMessages": 100})
    alone.change_stream(names, max_msgs=50)

    def tells(body: Body) -> bool:
        found = condition(body, "StreamReady")
        return found is not None and found["reason"] == "DriftCorrected"

    body = alone.observer.wait(alone.key(names), tells, "told that it was corrected")
    assert "50" in message_of(body, "StreamReady")
    assert alone.settings(names)["max_msgs"] == 100
    assert identity(alone.stream(names)) == kept
    metrics = watchful.ask("/metrics").text
    assert re.search(r"^aviso_operator_stream_drift_total\{field=\"\w+\"\} 1.0$", metrics, re.MULTILINE)


def test_a_stream_that_was_deleted_by_hand_is_made_again(alone: Installation, watchful: Operator) -> None:
    """Events can be stored again, under the revision that was there."""
    names = fresh_names()
    alone.live_with(1, names)
    revision = alone.wait_ready(names)["status"]["revision"]
    alone.ask_broker(f"STREAM.DELETE.{names.stream}")
    until(lambda: alone.stream(names) is not None, "it is not made again")
    body = alone.wait_ready(names)
    assert body["status"]["revision"] == revision
    until(lambda: alone.notify(names, 1) == 200, "nothing can be stored")
    assert alone.settings(names)["metadata"]["aviso.dev/owner"] == alone.key(names)


def enforced(installation: Installation, names: Names) -> None:
    """Let the operator do what it finds to be done, and wait until it has."""
    installation.objects.patch(names.name, {"spec": {"reconcilePolicy": "Enforce"}})
    installation.wait_ready(names)


def annotate(installation: Installation, names: Names, stream: str) -> None:
    """Let an object take over a stream."""
    installation.objects.patch(names.name, {"metadata": {"annotations": {"aviso.dev/adopt-stream": stream}}})
