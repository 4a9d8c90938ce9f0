"""Who has to serve what is published: several services, none, one that cannot, one that fell silent.

And what they need of the cluster besides: the keys that its tokens are verified by.
"""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final

import nats
import pytest

from support.claims import condition, is_refused
from support.cluster_objects import EventSchemas, service_account
from support.installations import Installation, fresh_names, on_broker, severe, until
from support.nats import Server, running_server
from support.observers import observing
from support.operators import running_operator
from support.services import Program, running_program, write_configuration

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.apiserver import ApiServer
    from support.claims import Body

_AVISOD: Final = "aviso_all_in_one"
_STAYS_AWAY: Final = (False, *([True] if os.environ.get("AVISO_LONG_TESTS") else []))
# What has expired is noticed within a third of the time that a report lives, which is 90 seconds.
_EXPIRES_WITHIN_SECONDS: Final = 130.0


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[Server]:
    """Run a broker that no other test has, so that nobody else is on its roll."""
    with running_server(tmp_path / "broker") as running:
        yield running


@pytest.fixture
def lonely(
    operator_folder: Path, server: ApiServer, own_broker: Server, namespace: str
) -> Iterator[Installation]:
    """Run an operator on a broker without any service."""
    with (
        running_operator(operator_folder, server.kubeconfig, own_broker.url, f"--namespace={namespace}"),
        observing(server, [namespace], []) as observer,
    ):
        yield Installation(EventSchemas(server, namespace), own_broker, "", observer)


@contextmanager
def following(folder: Path, broker: Server, module: str, pod: str, **blocks: Any) -> Iterator[Program]:
    """Run a service of a name that follows the operator."""
    folder.mkdir(exist_ok=True)
    file = write_configuration(folder, on_broker(broker.url, **blocks))
    arguments = ("serve", "--config", str(file)) if module == _AVISOD else ()
    environ = {"K8S_POD_NAME": pod, "AVISOSERVER_CONFIG_FILE": str(file)}
    with running_program(folder, module, *arguments, environ=environ) as program:
        yield program


def test_each_service_of_several_has_to_serve_it(lonely: Installation, tmp_path: Path) -> None:
    """Without a service nothing is ready, and that is said; ingest and gateway are counted, each once."""
    names = fresh_names()
    lonely.create(names)
    lonely.observer.wait(lonely.key(names), is_refused("NoReplicas"), "told that nobody is there")
    with ExitStack() as stack:
        for module in ("aviso_ingest", "aviso_stream_gateway"):
            stack.enter_context(following(tmp_path / module, lonely.broker, module, f"{module}-0"))
        body = lonely.observer.wait(lonely.key(names), _counts("2/2"), "served by both")
        assert condition(body, "Ready")["status"] == "True"  # type: ignore[index]  # it is always there
        lonely.objects.patch(names.name, severe(9))
        lonely.observer.wait(lonely.key(names), _counts("2/2", generation=2), "served by both")
    # Told to stop, they say so, and are waited for no more.
    lonely.observer.wait(lonely.key(names), is_refused("NoReplicas"), "told that nobody is there")


def test_a_service_that_cannot_serve_it_is_named_with_its_reason(
    lonely: Installation, tmp_path: Path
) -> None:
    """One that reports a fault, as an older build would, makes the object not ready: it is named, with what it says."""
    names = fresh_names()
    report = {names.event_type: {"revision": 10**9, "error": "cannot be read by this build"}}
    with following(tmp_path / "new", lonely.broker, _AVISOD, "new-0") as new:
        lonely.observer.services.append(new.url)
        asyncio.run(_write(lonely.broker, "avisod/old-0", json.dumps(report).encode()))
        lonely.create(names)
        body = lonely.observer.wait(lonely.key(names), _names("ReplicaRejected", "old-0"), "refused by one")
        message = condition(body, "Propagated")["message"]  # type: ignore[index]  # it is always there
        assert "old-0" in message
        assert "cannot be read by this build" in message
        # It goes in good order, and is waited for no more.
        asyncio.run(_write(lonely.broker, "avisod/old-0", None))
        lonely.wait_ready(names)


def test_objects_that_are_let_go_of_keep_no_other_waiting(lonely: Installation) -> None:
    """However many wait until nobody serves them, here because one does not answer, the next is looked at at once."""
    asyncio.run(report_nothing(lonely.broker, "ingest/silent"))
    going = [fresh_names() for _ in range(60)]
    for names in going:
        lonely.create(names, deletionPolicy="Delete")
    for names in going:
        lonely.observer.wait(lonely.key(names), is_held_back, "held back and published")
    for names in going:
        lonely.objects.delete(names.name)
    names = fresh_names()
    lonely.create(names)
    lonely.observer.wait(lonely.key(names), is_published, "published")
    assert all(lonely.stream(names) for names in going), "nobody waited for any of them"


async def report_nothing(broker: Server, process: str) -> None:
    """Put a process on the roll that has taken nothing and will not."""
    client = await nats.connect(broker.url)
    try:
        await client.request(f"$KV.aviso-acks.{process}", b"{}", timeout=5)
    finally:
        await client.close()


def is_published(body: Body) -> bool:
    return "revision" in body.get("status", {})


def is_held_back(body: Body) -> bool:
    return is_published(body) and bool(body["metadata"].get("finalizers"))


@pytest.mark.parametrize("stays_away", _STAYS_AWAY)
def test_a_service_that_was_killed_is_waited_for_until_it_is_back_or_forgotten(
    lonely: Installation, tmp_path: Path, stays_away: bool
) -> None:
    """An edit is not ready while a process that was killed has not taken it: it is named.

    Back under its name it takes it. If it stays away the status says so after half a minute, and when its report has
    expired it is not counted.
    """
    names = fresh_names()
    with (
        following(tmp_path / "first", lonely.broker, _AVISOD, "first-0") as first,
        following(tmp_path / "second", lonely.broker, _AVISOD, "second-0") as second,
    ):
        lonely.observer.services.append(first.url)
        lonely.create(names)
        lonely.observer.wait(lonely.key(names), _counts("2/2"), "served by both")
        second.process.kill()
        second.process.wait()
        lonely.objects.patch(names.name, severe(9))
        waiting = _names("WaitingForReplicas", "second-0")
        body = lonely.observer.wait(lonely.key(names), waiting, "waiting for the one that is gone")
        assert body["status"]["propagation"]["summary"] == "1/2"
        if not stays_away:
            with following(tmp_path / "again", lonely.broker, _AVISOD, "second-0"):
                assert lonely.wait_ready(names)["status"]["propagation"]["summary"] == "2/2"
            return
        lonely.observer.wait(
            lonely.key(names), _names("AckTimeout", "second-0"), "told that it is away", seconds=60
        )
        lonely.observer.wait(
            lonely.key(names), _counts("1/1", generation=2), "ready", seconds=_EXPIRES_WITHIN_SECONDS
        )


def test_tokens_of_the_cluster_are_believed_by_services(
    lonely: Installation, server: ApiServer, tmp_path: Path
) -> None:
    """The operator copies the cluster's keys, so a service lets in a ServiceAccount's token that was requested for it.

    It takes neither one for somebody else nor none.
    """
    names = fresh_names()
    namespace = lonely.objects.namespace
    job = service_account(server, namespace, "job", audiences=["aviso"])
    other = service_account(server, namespace, "other", audiences=["aviso"])
    elsewhere = service_account(server, namespace, "job", audiences=["elsewhere"])
    auth = {
        "enabled": True,
        "mode": "trusted_proxy",
        "admin_roles": {"main": ["operator"]},
        "kubernetes": {"enabled": True},
        "jwks_refresh_seconds": 1,
    }
    with following(tmp_path / "avisod", lonely.broker, _AVISOD, "avisod-0", auth=auth) as program:
        service = Installation(lonely.objects, lonely.broker, program.url, lonely.observer)
        writers = [{"realm": "kubernetes", "roles": [f"{namespace}:job"]}]
        service.create(names, auth={"required": True, "write": writers})
        service.observer.wait(service.key(names), _counts("1/1"), "ready")

        def status(token: str) -> int:
            return service.notify(names, 1, headers={"Authorization": f"Bearer {token}"})

        until(lambda: status(job) == 200, "the cluster's keys are not known")
        assert status(other) == 403
        assert status(elsewhere) == 401
        assert service.notify(names, 1) == 401


def _counts(summary: str, *, generation: int = 1) -> Any:
    """Return what tells whether so many of so many serve a generation."""

    def tells(body: Body) -> bool:
        found = condition(body, "Propagated")
        return (
            found is not None
            and found["observedGeneration"] == generation
            and found["status"] == "True"
            and body["status"]["propagation"]["summary"] == summary
        )

    return tells


def _names(reason: str, pod: str) -> Any:
    """Return what tells whether it is not ready for this reason, because of one process."""

    def tells(body: Body) -> bool:
        return is_refused(reason)(body) and body["status"]["propagation"]["stale"] == [pod]

    return tells


async def _write(broker: Server, process: str, report: bytes | None) -> None:
    """Report by hand for a process, or take it off the roll."""
    client = await nats.connect(broker.url)
    try:
        headers = {"KV-Operation": "DEL"} if report is None else None
        await client.request(f"$KV.aviso-acks.{process}", report or b"", headers=headers, timeout=5)
    finally:
        await client.close()
