"""What the operator has heard, or seen of objects, may be late: nothing goes back to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from aviso_core.planning.plan import Plan
from aviso_core.registry.base import Published, Withdrawn
from aviso_core.schema.stream import StreamDefaults
from aviso_operator.announcements import Announcements
from aviso_operator.findings import Findings, Live
from aviso_operator.letting_go import LettingGo
from aviso_operator.locks import Locks
from aviso_operator.propagation import Propagation
from aviso_operator.reconcile import Reconciler
from aviso_operator.status import StatusWriter
from aviso_operator.steps import Steps
from support.event_logs import asynchronous
from support.nats import running_server
from support.operator_parts import WITHDRAWAL_SECONDS, Parts, as_seen, open_parts
from support.registries import manifest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from aviso_core.registry.base import Version
    from aviso_operator.steps import Broker, FindObject


def steps_of(parts: Parts, broker: Broker, find_object: FindObject) -> Steps:
    """Return what carries out plans."""
    return Steps(
        broker,
        locks=Locks(),
        propagation=parts.propagation,
        metrics=parts.metrics,
        is_alive=parts.objects.is_alive,
        find_object=find_object,
        withdrawal_seconds=WITHDRAWAL_SECONDS,
    )


def reconciler(parts: Parts, steps: Steps) -> Reconciler:
    """Return what looks at objects."""
    announcements = Announcements(parts.cluster, parts.clock, pod="pod")
    return Reconciler(
        steps,
        parts.letting_go,
        objects=parts.objects,
        queue=parts.queue,
        statuses=StatusWriter(parts.cluster, parts.objects, announcements, parts.clock),
        propagation=parts.propagation,
        metrics=parts.metrics,
        defaults=StreamDefaults(),
        clock=parts.clock,
    )


@asynchronous
async def test_a_status_keeps_its_revision_when_the_broker_goes_before_it_was_heard_of(
    tmp_path: Path,
) -> None:
    """A revision that was published by this very operator is in the status before it comes back from the broker."""
    key = "weather/alert"
    with running_server(tmp_path) as server:
        async with open_parts(server.url) as parts:
            is_there = [True]

            def hearing(heard: Mapping[str, Version]) -> Reconciler:
                broker = parts.broker._replace(known=lambda: heard, is_there=lambda: is_there[0])
                return reconciler(parts, steps_of(parts, broker, as_seen(parts.objects)))

            parts.objects.see(parts.kept.create("alert", manifest("alert")["spec"] | {"eventType": "alert"}))
            assert await hearing({}).look(key)
            await parts.wait_heard("alert", Published)
            late = hearing(dict(parts.broker.known()))
            first = parts.kept.get(key).status
            parts.objects.see(parts.kept.edit(key, description="other words"))
            assert await late.look(key)
            second = parts.kept.get(key).status
            assert (first.revision, second.revision) == (1, 2)
            is_there[0] = False
            assert not await late.look(key)
            third = parts.kept.get(key).status
            assert third.conditions != second.conditions
            assert (third.revision, third.spec_hash) == (second.revision, second.spec_hash)


@asynchronous
async def test_who_comes_second_does_not_keep_the_first_from_hearing_that_it_is_served(
    tmp_path: Path,
) -> None:
    """Both are looked at when the first is published, in any order; the first is told of its acknowledgements."""
    news: list[str] = []
    with running_server(tmp_path) as server:
        async with open_parts(server.url) as some:
            propagation = Propagation(some.clock, on_news=news.append, on_all=lambda _: None)
            parts = some._replace(propagation=propagation)
            parts.report("ingest/pod", alert=0)
            one = reconciler(parts, steps_of(parts, parts.broker, parts.cluster.find))
            spec = manifest("alert")["spec"] | {"eventType": "alert"}
            for name in ("first", "second"):
                parts.objects.see(parts.kept.create(name, spec))
                assert await one.look(f"weather/{name}")
            parts.report("ingest/pod", alert=1)
            assert news == ["alert"]


@asynchronous
async def test_who_has_seen_less_does_not_write_over_who_has_seen_more(tmp_path: Path) -> None:
    """Two operators by mistake: the one whose write comes later may have looked earlier."""
    with running_server(tmp_path) as server:
        async with open_parts(server.url) as parts:
            resource = parts.kept.create("alert", manifest("alert")["spec"])
            announcements = Announcements(parts.cluster, parts.clock, pod="pod")
            writer = StatusWriter(parts.cluster, parts.objects, announcements, parts.clock)
            await writer.write(resource, _seen(2))
            await writer.write(resource, _seen(1))
            assert parts.kept.get(resource.key).status.revision == 2
            # A broker that begins anew is believed by whoever has seen the status before.
            await writer.write(parts.kept.get(resource.key), _seen(1))
            assert parts.kept.get(resource.key).status.revision == 1


@asynchronous
async def test_who_has_not_seen_an_edit_does_not_publish_what_was_before_it(tmp_path: Path) -> None:
    """The other of two operators was faster: what it published stands, and its status."""
    with running_server(tmp_path) as server:
        async with open_parts(server.url) as parts:
            stale = parts.kept.create("alert", manifest("alert")["spec"] | {"eventType": "alert"})
            parts.kept.edit(stale.key, description="other words")
            steps = steps_of(parts, parts.broker, parts.cluster.find)
            parts.objects.see(stale)
            assert await reconciler(parts, steps).look(stale.key), "it is looked at when the edit is seen"
            assert await parts.hands.registry.get("alert") is None
            assert await parts.hands.streams.find("alert") is None
            parts.objects.see(parts.kept.get(stale.key))
            assert await reconciler(parts, steps).look(stale.key)
            latest = await parts.hands.latest("alert")
            assert (latest.revision, latest.schema.description) == (1, "other words")


@pytest.mark.parametrize("is_made_again", [True, False])
@asynchronous
async def test_who_has_not_seen_that_an_object_was_made_again_does_not_let_go_of_it(
    tmp_path: Path, is_made_again: bool
) -> None:
    """The other of two operators has published it by then. What is gone for good is withdrawn."""
    with running_server(tmp_path) as server:
        async with open_parts(server.url) as parts:
            gone = parts.kept.create("alert", manifest("alert")["spec"] | {"eventType": "alert"})
            steps = steps_of(parts, parts.broker, parts.cluster.find)
            parts.objects.see(gone)
            assert await reconciler(parts, steps).look(gone.key)
            await parts.wait_heard("alert", Published)
            parts.objects.see_gone(gone)
            if not is_made_again:
                parts.kept.delete(gone.key)
            letting_go = LettingGo(
                steps,
                objects=parts.objects,
                propagation=parts.propagation,
                metrics=parts.metrics,
                clock=parts.clock,
            )
            await letting_go.of_object(gone.key)
            latest = await parts.hands.registry.get("alert")
            assert isinstance(latest, Published if is_made_again else Withdrawn)
            stream = await parts.hands.stream("alert")
            assert stream.stamps is not None
            assert (stream.stamps.orphaned_at is None) is is_made_again


def _seen(revision: int) -> Findings:
    live = Live(revision=revision, spec_hash=f"sha256:{revision}", standings={})
    return Findings(generation=1, event_type="alert", plan=Plan(), live=live)
