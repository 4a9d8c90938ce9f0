"""An object is deleted: what is retained is there for the next of its name, what is deleted goes in a safe order."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import nats
import pytest

from support.installations import Installation, fresh_names, identity, on_broker, severe
from support.operators import MODULE, environment, running_operator
from support.services import running_program, write_configuration

if TYPE_CHECKING:
    from pathlib import Path

    from support.apiserver import ApiServer
    from support.installations import Names
    from support.nats import Server

FINALIZER: Final = "aviso.dev/operator"


def test_what_is_retained_comes_back_with_all_that_it_held(installation: Installation) -> None:
    """The schema is withdrawn, and the stream says since when nobody owns it.

    An object of the same name takes it back with its messages and sequences, under a higher revision.
    """
    names = fresh_names()
    created = installation.create(names)
    before = installation.wait_ready(names)["status"]
    assert [installation.notify(names, severity) for severity in (1, 2, 3)] == [200, 200, 200]
    kept = identity(installation.stream(names))
    assert not installation.objects.get(names.name)["metadata"].get("finalizers")
    installation.objects.delete(names.name)
    installation.wait_orphaned(names)
    installation.wait_withdrawn(names)
    assert installation.settings(names)["metadata"]["aviso.dev/uid"] == created["metadata"]["uid"]
    again = installation.create(names, severity=6)
    after = installation.wait_ready(names)["status"]
    assert identity(installation.stream(names)) == kept
    marks = installation.settings(names)["metadata"]
    assert marks["aviso.dev/uid"] == again["metadata"]["uid"] != created["metadata"]["uid"]
    assert "aviso.dev/orphaned-at" not in marks
    assert after["revision"] > before["revision"]
    assert installation.notify(names, 6) == 200
    assert identity(installation.stream(names)) == (kept[0], kept[1] + 1, kept[2] + 1)


def test_what_is_deleted_goes_with_its_stream(installation: Installation) -> None:
    """The object is held back by a finalizer until its stream is gone; one that is made afterwards begins anew."""
    names = fresh_names()
    installation.create(names, deletionPolicy="Delete")
    before = installation.wait_ready(names)["status"]
    held_back(installation, names)
    assert installation.notify(names, 1) == 200
    installation.objects.delete(names.name)
    installation.observer.wait_gone(installation.key(names))
    assert installation.stream(names) is None
    assert installation.notify(names, 1) == 400
    installation.create(names, severity=6)
    assert installation.wait_ready(names)["status"]["revision"] > before["revision"]
    assert identity(installation.stream(names))[1:] == (0, 0)


def test_an_object_as_large_as_is_taken_goes_with_its_stream(installation: Installation) -> None:
    """The API server takes no copy of it in its annotations; without one it is held back and let go all the same."""
    names = fresh_names()
    payload = {"jsonSchema": {"description": "x" * 300_000}}
    installation.create(names, deletionPolicy="Delete", payload=payload)
    installation.wait_ready(names)
    held_back(installation, names)
    assert not installation.objects.get(names.name)["metadata"].get("annotations")
    installation.objects.patch(names.name, severe(6))
    installation.wait_ready(names)
    installation.objects.delete(names.name)
    installation.observer.wait_gone(installation.key(names))
    assert installation.stream(names) is None


def test_an_object_that_is_to_be_retained_after_all_is_held_back_no_more(installation: Installation) -> None:
    """The finalizer goes with the policy that needs it, and the stream stays when the object goes."""
    names = fresh_names()
    installation.create(names, deletionPolicy="Delete")
    installation.wait_ready(names)
    held_back(installation, names)
    kept = identity(installation.stream(names))
    installation.objects.patch(names.name, {"spec": {"deletionPolicy": "Retain"}})
    installation.observer.wait(
        installation.key(names), lambda body: not body["metadata"].get("finalizers"), "free to go"
    )
    installation.objects.delete(names.name)
    installation.observer.wait_gone(installation.key(names))
    installation.wait_orphaned(names)
    assert identity(installation.stream(names)) == kept


def test_no_stream_is_deleted_while_somebody_still_takes_events_for_it(
    operator_folder: Path, tmp_path: Path, server: ApiServer, broker: Server, alone: Installation
) -> None:
    """While one of two processes has not said that it stopped, the stream is there.

    When the time for that is over it is deleted all the same.
    """
    names = fresh_names()
    with ExitStack() as stack:
        folder = tmp_path / "second"
        folder.mkdir()
        file = write_configuration(folder, on_broker(broker.url))
        second = stack.enter_context(
            running_program(
                folder,
                *("aviso_all_in_one", "serve", "--config", str(file)),
                environ={"K8S_POD_NAME": "second-0"},
            )
        )
        arguments = (f"--namespace={alone.objects.namespace}", "--withdrawal-seconds=2")
        operator = stack.enter_context(
            running_operator(operator_folder, server.kubeconfig, broker.url, *arguments)
        )
        alone.create(names, deletionPolicy="Delete")
        alone.observer.wait(
            alone.key(names),
            lambda body: body.get("status", {}).get("propagation", {}).get("summary") == "2/2",
            "served by both",
        )
        held_back(alone, names)
        # Nothing is heard of it any more, and its report is there for another while.
        second.process.kill()
        second.process.wait()
        alone.objects.delete(names.name)
        alone.wait_withdrawn(names)
        assert alone.stream(names) is not None
        assert alone.objects.get(names.name)["metadata"]["finalizers"] == [FINALIZER]
        alone.observer.wait_gone(alone.key(names))
        assert alone.stream(names) is None
        assert b"second-0" in operator.output.read_bytes()
    asyncio.run(forget(broker, "avisod/second-0"))


def test_finalizers_are_released_without_an_operator(
    operator_folder: Path, server: ApiServer, broker: Server, alone: Installation
) -> None:
    """`release-finalizers` lets objects go that wait for an operator which does not come back; streams stay."""
    names, other = fresh_names(), fresh_names()
    namespace = f"--namespace={alone.objects.namespace}"
    with running_operator(operator_folder, server.kubeconfig, broker.url, namespace) as operator:
        for each in (names, other):
            alone.create(each, deletionPolicy="Delete")
            alone.wait_ready(each)
            held_back(alone, each)
        assert operator.stop() == 0
    kept = identity(alone.stream(names))
    alone.objects.delete(names.name)
    assert alone.objects.get(names.name)["metadata"]["deletionTimestamp"]
    ran = subprocess.run(
        [sys.executable, "-m", MODULE, "release-finalizers", namespace],
        env=environment(server.kubeconfig, broker.url),
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert ran.returncode == 0, ran.stderr
    assert sorted(ran.stdout.splitlines()) == sorted(f"released {alone.key(each)}" for each in (names, other))
    alone.observer.wait_gone(alone.key(names))
    alone.objects.delete(other.name)
    alone.observer.wait_gone(alone.key(other))
    assert identity(alone.stream(names)) == kept


@pytest.mark.parametrize("is_there", [True, False], ids=["there", "away"])
def test_a_namespace_goes_with_objects_of_both_policies(
    operator_folder: Path, server: ApiServer, broker: Server, alone: Installation, is_there: bool
) -> None:
    """In a namespace that goes, what is to be deleted is deleted, and what is retained is stamped.

    If the operator was away, its successor does it.
    """
    retained, deleted = fresh_names(), fresh_names()
    namespace = alone.objects.namespace
    with running_operator(operator_folder, server.kubeconfig, broker.url, f"--namespace={namespace}") as one:
        alone.create(retained)
        alone.create(deleted, deletionPolicy="Delete")
        for names in (retained, deleted):
            alone.wait_ready(names)
        held_back(alone, deleted)
        kept = identity(alone.stream(retained))
        if not is_there:
            one.kill()
        ran = server.kubectl("delete", "namespace", namespace, "--wait=false")
        assert ran.returncode == 0, ran.stderr
        # No controller runs here that empties a namespace which goes, so this does as it would.
        ran = server.kubectl("delete", "eventschemas", "--all", f"--namespace={namespace}", "--wait=false")
        assert ran.returncode == 0, ran.stderr
        if not is_there:
            one.start()
        for names in (retained, deleted):
            alone.observer.wait_gone(alone.key(names))
        alone.wait_orphaned(retained)
        assert identity(alone.stream(retained)) == kept
        assert alone.stream(deleted) is None
        alone.wait_withdrawn(retained)
        assert alone.notify(deleted, 1) == 400


def held_back(installation: Installation, names: Names) -> None:
    """Wait until an object has the finalizer."""
    installation.observer.wait(
        installation.key(names), lambda body: body["metadata"].get("finalizers") == [FINALIZER], "held back"
    )


async def forget(broker: Server, process: str) -> None:
    """Take a process off the roll that others share, which would stay there until its time is over."""
    client = await nats.connect(broker.url)
    try:
        await client.request(f"$KV.aviso-acks.{process}", b"", headers={"KV-Operation": "DEL"}, timeout=5)
    finally:
        await client.close()
