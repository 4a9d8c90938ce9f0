"""What the operator needs is away for a while: its broker, the API server, itself; or there are two of it.

While that is so nothing is claimed that is not so, and afterwards everything is as declared, without anybody's help.
"""

from __future__ import annotations

import functools
import os
import shutil
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pytest

from support.apiserver import running_apiserver
from support.claims import claims_ready, condition
from support.cluster_objects import EventSchemas, install_definition, make_namespace
from support.installations import Installation, fresh_names, identity, on_broker, severe, until
from support.kubernetes_programs import ABSENT, find_programs
from support.nats import running_server
from support.observers import observing
from support.operators import Operator, running_operator
from support.services import running_avisod

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.apiserver import ApiServer
    from support.claims import Body
    from support.installations import Names
    from support.nats import Server

_IS_LONG: Final = bool(os.environ.get("AVISO_LONG_TESTS"))
# Long enough that every watch has ended by itself.
_AWAY_SECONDS: Final = (5, *([130] if _IS_LONG else []))
_GIVEN: Final = os.environ.get("AVISO_SIMULATION_SEED")
_ROUNDS: Final = 30 if _IS_LONG else 5


@contextmanager
def breakable(folder: Path, server: ApiServer, namespace: str) -> Iterator[tuple[Installation, Operator]]:
    """Run an installation whose parts nobody shares, but for the API server."""
    with (
        running_server(folder / "broker") as broker,
        running_operator(
            folder / "operator", server.kubeconfig, broker.url, f"--namespace={namespace}"
        ) as one,
        running_avisod(_made(folder / "avisod"), on_broker(broker.url)) as program,
        observing(server, [namespace], [program.url]) as observer,
    ):
        yield Installation(EventSchemas(server, namespace), broker, program.url, observer), one


def test_the_broker_is_away_while_objects_come_and_change(
    tmp_path: Path, server: ApiServer, namespace: str
) -> None:
    """Without its broker the operator is not ready, and says so of whatever is new.

    What was made and edited meanwhile is live when it is back, and every stream is the one that it was.
    """
    with breakable(tmp_path, server, namespace) as (installation, operator):
        edited, deleted, made = fresh_names(), fresh_names(), fresh_names()
        kept = {names: installation.live_with(1, names) for names in (edited, deleted)}
        installation.broker.kill()
        until(lambda: operator.ask("/readyz").status_code == 503, "it does not miss its broker")
        assert operator.ask("/healthz").status_code == 200
        installation.objects.patch(edited.name, severe(9))
        installation.objects.delete(deleted.name)
        installation.create(made)
        for names in (edited, made):
            installation.observer.wait(
                installation.key(names), _is_unreachable, "told that the broker is away"
            )
        installation.broker.start()
        for names in (edited, made):
            installation.wait_ready(names)
        installation.wait_withdrawn(deleted)
        for names, identified in kept.items():
            assert identity(installation.stream(names)) == identified
        assert installation.notify(edited, 9) == 200
        assert operator.ask("/readyz").status_code == 200


def test_streams_in_memory_are_made_again_when_the_broker_has_lost_them(
    tmp_path: Path, server: ApiServer, namespace: str
) -> None:
    """A broker that comes back has no streams of memory any more: they are made again, and those on file are kept."""
    with breakable(tmp_path, server, namespace) as (installation, _):
        in_memory, on_file = fresh_names(), fresh_names()
        lost = installation.live_with(1, in_memory, storage={"medium": "Memory"})
        kept = installation.live_with(1, on_file)
        installation.broker.kill()
        installation.broker.start()
        until(lambda: installation.stream(in_memory) is not None, "it is not made again")
        for names in (in_memory, on_file):
            installation.wait_ready(names)
        assert identity(installation.stream(in_memory))[0] != lost[0]
        assert identity(installation.stream(on_file)) == kept
        for names in (in_memory, on_file):
            until(functools.partial(_stores, installation, names), "nothing can be stored")


def test_a_broker_that_comes_back_empty_is_filled_again(
    tmp_path: Path, server: ApiServer, namespace: str
) -> None:
    """What the cluster declares is all that it takes: streams, schemas and token keys are there again."""
    with breakable(tmp_path, server, namespace) as (installation, _):
        names, made = fresh_names(), fresh_names()
        lost = installation.live_with(1, names)
        installation.broker.kill()
        shutil.rmtree(tmp_path / "broker" / "store")
        # The broker that comes is another one, and begins to count anew.
        installation.observer.forget_revisions()
        installation.broker.start()
        until(lambda: installation.stream(names) is not None, "it is not made again")
        installation.objects.patch(names.name, severe(9))
        installation.create(made)
        for each in (names, made):
            installation.wait_ready(each)
            until(functools.partial(_stores, installation, each), "nothing can be stored")
        assert installation.notify(names, 9) == 200
        assert identity(installation.stream(names))[0] != lost[0]
        until(functools.partial(_has_keys, installation), "the cluster's token keys are gone")


@pytest.mark.parametrize("seconds", _AWAY_SECONDS)
def test_the_api_server_is_away_and_back(tmp_path: Path, seconds: int) -> None:
    """What is served is served on without the API server; an operator that sees nothing is not healthy.

    When the server is back, the operator, one of the whole cluster, follows what happens there and is healthy again.
    """
    programs = find_programs()
    if programs is None:
        pytest.skip(ABSENT)
    with running_apiserver(programs, tmp_path / "apiserver") as server:
        install_definition(server)
        namespace = make_namespace(server, "weather")
        arguments = ("--all-namespaces", "--resync-seconds=1")
        with (
            running_server(tmp_path / "broker") as broker,
            running_operator(tmp_path / "operator", server.kubeconfig, broker.url, *arguments) as operator,
            running_avisod(_made(tmp_path / "avisod"), on_broker(broker.url)) as program,
            observing(server, [namespace], [program.url]) as observer,
        ):
            installation = Installation(EventSchemas(server, namespace), broker, program.url, observer)
            before, after = fresh_names(), fresh_names()
            kept = installation.live_with(1, before)
            server.stop_api()
            # It is the length of the outage that is tried here, so this waits by the clock.
            threading.Event().wait(seconds)
            until(
                lambda: operator.ask("/healthz").status_code == 503, "it is healthy without seeing anything"
            )
            assert installation.notify(before, 2) == 200
            server.start_api()
            installation.objects.patch(before.name, severe(9))
            installation.create(after)
            for names in (before, after):
                installation.wait_ready(names)
            installation.objects.delete(after.name)
            installation.wait_withdrawn(after)
            assert identity(installation.stream(before)) == (kept[0], kept[1] + 1, kept[2] + 1)
            until(lambda: operator.ask("/healthz").status_code == 200, "it is not healthy again")


def test_the_operator_is_away_while_objects_change_go_and_are_made_again(
    operator_folder: Path, server: ApiServer, broker: Server, alone: Installation
) -> None:
    """What happened to objects while nobody saw it is found: edits, deletions, and objects that are others by now."""
    edited, deleted, again, moved = (fresh_names() for _ in range(4))
    namespace = f"--namespace={alone.objects.namespace}"
    with running_operator(operator_folder, server.kubeconfig, broker.url, namespace) as operator:
        kept = {names: alone.live_with(1, names) for names in (edited, deleted, again, moved)}
        assert operator.stop() == 0
        alone.objects.patch(edited.name, severe(9))
        for names in (deleted, again, moved):
            alone.objects.delete(names.name)
        alone.create(again, severity=7)
        # Of the same name, and of another event type and base.
        other = moved._replace(event_type=f"{moved.event_type}_other", base=f"{moved.base}other")
        alone.create(other)
        assert alone.notify(edited, 9) == 400
        assert alone.notify(deleted, 1) == 200
        operator.start()
        for names in (edited, again, other):
            alone.wait_ready(names)
        assert [alone.notify(edited, 9), alone.notify(again, 7), alone.notify(other, 1)] == [200, 200, 200]
        for names in (deleted, moved):
            alone.wait_withdrawn(names)
            alone.wait_orphaned(names)
        for names, identified in kept.items():
            assert identity(alone.stream(names))[0] == identified[0]
        assert "aviso.dev/orphaned-at" not in alone.settings(again)["metadata"]


def test_two_operators_by_mistake_agree(
    tmp_path: Path, server: ApiServer, broker: Server, alone: Installation
) -> None:
    """Two that see the same objects make each stream once, and write nothing any more when all is as declared."""
    namespace = f"--namespace={alone.objects.namespace}"
    with (
        running_operator(tmp_path / "first", server.kubeconfig, broker.url, namespace) as first,
        running_operator(tmp_path / "second", server.kubeconfig, broker.url, namespace) as second,
    ):
        retained, deleted = fresh_names(), fresh_names()
        kept = alone.live_with(1, retained)
        alone.live_with(1, deleted, deletionPolicy="Delete")
        for severity in range(6, 16):
            alone.objects.patch(retained.name, severe(severity))
        alone.objects.patch(deleted.name, severe(6))
        for names in (retained, deleted):
            alone.wait_ready(names)
        assert alone.notify(retained, 15) == 200
        at_rest(alone, retained, (first, second))
        alone.objects.delete(deleted.name)
        alone.observer.wait_gone(alone.key(deleted))
        assert alone.stream(deleted) is None
        assert identity(alone.stream(retained)) == (kept[0], kept[1] + 1, kept[2] + 1)
        for operator in (first, second):
            assert b"a fault of the operator's own" not in operator.output.read_bytes()


def at_rest(installation: Installation, names: Names, operators: tuple[Operator, ...]) -> None:
    """Wait until nobody has written an object or a schema for as long as all have taken to look at it again."""
    seen: list[tuple[object, ...]] = []

    def is_at_rest() -> bool:
        body = installation.objects.get(names.name)
        schemas = installation.stream_called("KV_aviso-schemas")
        assert schemas is not None
        looks = [operator.measured("aviso_operator_reconcile_seconds_count") for operator in operators]
        seen.append((body["metadata"]["resourceVersion"], schemas["state"]["last_seq"], *looks))
        return len(seen) > 10 and len(set(seen[-10:])) == 1

    until(is_at_rest, "they write against each other")
    assert claims_ready(installation.objects.get(names.name))


def _is_unreachable(body: Body) -> bool:
    ready = condition(body, "StreamReady")
    return ready is not None and ready["reason"] == "NatsUnreachable"


def _has_keys(installation: Installation) -> bool:
    bucket = installation.stream_called("KV_aviso-keys")
    return bucket is not None and bucket["state"]["messages"] == 1


def _stores(installation: Installation, names: Names) -> bool:
    return installation.notify(names, 2) == 200


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder
