"""Carrying out plans on the broker: looking at what there is, acting on it, and looking again until nothing is left.

What a plan was made on may have changed before it is carried out. Then it is looked at and planned again, a few times
at once. Whoever touches an event type or a topic base does so alone.

What is known of objects may be late, and somebody who knew earlier may have acted: another operator, by mistake. So
between looking and acting the API server is asked whether the object is as it was planned for. What was written for a
later one is written over what was seen, and that is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from aviso_core.errors import AvisoError, Unavailable
from aviso_http.records.log import Log
from aviso_operator.apply import LookAgain, Ports, Refused, apply
from aviso_operator.findings import Refusal
from aviso_operator.observe import observe

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from aviso_core.eventlog.jetstream.owned import OwnedStreams
    from aviso_core.planning.actions import Action
    from aviso_core.planning.plan import Seen
    from aviso_core.registry.base import Owner, Version, WritableRegistry
    from aviso_operator.apply import Done
    from aviso_operator.locks import Locks
    from aviso_operator.metrics import Metrics
    from aviso_operator.propagation import Propagation
    from aviso_operator.resources import Resource

_LOOKS: Final = 6

log = Log("aviso_operator.steps")

PlanOf: TypeAlias = "Callable[[Seen], Sequence[Action]]"
FindObject: TypeAlias = "Callable[[Owner], Awaitable[Resource | None]]"


class Overtaken(AvisoError):
    """The object is not what it was when something was to be done about it. Nothing was."""

    code = "OVERTAKEN"


class Broker(NamedTuple):
    """What is on the broker: streams, schemas, and whether it is there at all."""

    streams: OwnedStreams
    registry: WritableRegistry
    # The latest version of each event type, as far as it was heard of.
    known: Callable[[], Mapping[str, Version]]
    is_there: Callable[[], bool]


class Outcome(NamedTuple):
    """What there is when all that could be done was done, what was done, and what the broker refused."""

    seen: Seen
    done: tuple[Action, ...]
    refused: Refusal | None = None


class Steps:
    """From plans to deeds."""

    def __init__(
        self,
        broker: Broker,
        *,
        locks: Locks,
        propagation: Propagation,
        metrics: Metrics,
        is_alive: Callable[[Owner], bool],
        find_object: FindObject,
        withdrawal_seconds: float,
    ) -> None:
        self._broker = broker
        self._locks = locks
        self._metrics = metrics
        self._is_alive = is_alive
        self._find_object = find_object
        self._ports = Ports(broker.streams, broker.registry, propagation, withdrawal_seconds)

    def alone(self, event_type: str, base: str) -> AbstractAsyncContextManager[None]:
        """Keep everybody else away from an event type and a topic base while the block runs."""
        return self._locks.held(f"base {base.lower()}", f"event type {event_type}")

    def heard(self) -> Mapping[str, Version]:
        """Return the latest version of each event type, as far as it was heard of."""
        return self._broker.known()

    async def see(self, event_type: str, base: str) -> Seen:
        """Return what there is."""
        if not self._broker.is_there():
            raise Unavailable("the broker is not there")
        return await observe(
            self._broker.streams,
            self._broker.registry,
            event_type=event_type,
            base=base,
            known=self._broker.known(),
            is_alive=self._is_alive,
        )

    async def carry_out(
        self,
        event_type: str,
        base: str,
        plan_of: PlanOf,
        *,
        owner: Owner,
        is_meant: Callable[[Resource | None], bool],
    ) -> Outcome:
        """Do what a plan says, again and again until it says nothing, or until the broker refuses something.

        `is_meant` tells whether the owner's object, as it is now or is no more, is the one that was planned for.
        """
        done: list[Action] = []
        for _ in range(_LOOKS):
            seen = await self.see(event_type, base)
            actions = plan_of(seen)
            if not actions:
                return Outcome(seen, tuple(done))
            if not is_meant(await self._find_object(owner)):
                raise Overtaken(f"{owner} is another by now")
            try:
                await apply(actions, seen, self._ports, tell=lambda one: self._note(one, done))
            except LookAgain as error:
                log.info("operator.plan.overtaken", str(error), event_type=event_type)
            except Refused as error:
                seen = await self.see(event_type, base)
                return Outcome(seen, tuple(done), Refusal(error.concern, error.reason, str(error)))
        raise Unavailable(f"event type '{event_type}' is changed by somebody else all the time")

    def _note(self, one: Done, done: list[Action]) -> None:
        done.append(one.action)
        self._metrics.acted(type(one.action).__name__)
        log.info("operator.action.done", str(one.action), revision=one.revision)
        if one.behind:
            log.warning(
                "operator.withdrawal.not_acknowledged",
                "processes that still serve what was withdrawn were not waited for any longer",
                processes=", ".join(one.behind),
            )
