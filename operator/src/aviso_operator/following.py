"""Having kopf follow the objects for as long as it can, and noticing when it has given up.

Where the API server refuses a watch, or fails for longer than kopf is patient, kopf logs it, ends that watch and goes
on without: what is left are the resyncs, and nothing tells that they are all there is. Who follows no more can only
begin anew, so the operator ends with what kopf was told; whoever starts it again is told the same, or all is well.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, cast

import kopf

from aviso_core.alongside import alongside
from aviso_core.errors import AvisoError, Unavailable
from aviso_http.signals import told_to_stop
from aviso_operator.handlers import kopf_settings
from aviso_operator.resources import GROUP, PLURAL, VERSION

if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Set as AbstractSet

    from aviso_operator.options import Watched

# By what they are called, for kopf hands out no others: a test follows real objects and refuses them.
_WATCHERS: Final = f"watcher for {PLURAL}.{VERSION}.{GROUP}@"
UNFOLLOWED: Final = "EventSchemas are followed no more"
_BETWEEN_LOOKS_SECONDS: Final = 1.0
_PATIENCE_SECONDS: Final = 60.0


async def begin_following(
    registry: kopf.OperatorRegistry, watched: Watched, stop: asyncio.Event
) -> Collection[asyncio.Task[None]]:
    """Have kopf follow the objects until told to stop, and return what does so."""
    tasks = await kopf.spawn_tasks(
        registry=registry,
        settings=kopf_settings(),
        clusterwide=watched.namespaces is None,
        namespaces=watched.namespaces or (),
        standalone=True,
        # kopf would make one of the user's name, and a user of a pod has none. One that stands alone is asked for none.
        identity=cast("Any", "operator"),
        stop_flag=stop,
    )
    return [*tasks, asyncio.create_task(wait_unfollowed())]


async def until_one_ends(tasks: Collection[asyncio.Task[None]], stop: asyncio.Event) -> None:
    """Wait until one of the tasks ends, end the others, and raise why, as an error of ours.

    kopf's own way to do so ends every task that there is besides, those of the connection to the broker as well. It has
    also taken the signals for itself when it began; from here on they are ours.
    """
    with told_to_stop() as told:
        try:
            async with alongside(_pass_on(told, stop)):
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    faults = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    for fault in faults:
        if isinstance(fault, AvisoError):
            raise fault
    if faults:
        raise Unavailable(f"{UNFOLLOWED}: {faults[0]}") from faults[0]


async def _pass_on(told: asyncio.Event, stop: asyncio.Event) -> None:
    await told.wait()
    stop.set()


async def wait_unfollowed() -> None:
    """Wait until objects are followed no more, and raise `Unavailable` with the reason; return if told to stop."""
    watchers = await _find()
    ended, _ = await asyncio.wait(watchers, return_when=asyncio.FIRST_COMPLETED)
    for one in ended:
        if one.cancelled():
            return
        raise Unavailable(f"{UNFOLLOWED}: {one.exception() or 'kopf has ended it'}")


async def _find() -> AbstractSet[asyncio.Task[object]]:
    """Return kopf's tasks that follow objects. It begins all of them at once, soon after it was started."""
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while True:
                found = {task for task in asyncio.all_tasks() if task.get_name().startswith(_WATCHERS)}
                if found:
                    return found
                # Nothing tells when it begins.
                await asyncio.sleep(_BETWEEN_LOOKS_SECONDS)
    except TimeoutError:
        raise Unavailable("EventSchemas are not followed: kopf does not find their definition") from None
