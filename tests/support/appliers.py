"""What an operator does to a broker, without the cluster: look, plan, apply, until there is nothing left to do.

A *wish* is what one resource wants of the broker, or that it is gone. `Hands` are what one operator has: a connection,
and through it the streams and the registry.
"""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, assert_never

import msgspec

from aviso_core.broker.connection import open_connection
from aviso_core.clock import SystemClock
from aviso_core.eventlog.jetstream.log import open_jetstream_log
from aviso_core.eventlog.jetstream.owned import OwnedStreams
from aviso_core.planning.plan import Desired, make_plan
from aviso_core.planning.removal import Removed, plan_removal
from aviso_core.registry.acknowledgements import RollCall
from aviso_core.registry.base import Owner, Published, Version
from aviso_core.registry.jetstream.registry import open_jetstream_registry, schema_bucket
from aviso_core.schema.model import Storage
from aviso_core.schema.stream import StreamDefaults
from aviso_operator.apply import LookAgain, Ports, apply
from aviso_operator.observe import observe
from aviso_operator.propagation import Propagation
from support.asking import open_asking_connection
from support.event_logs import fill, options, read_all, record
from support.registries import schema

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from aviso_core.broker.connection import Connection
    from aviso_core.eventlog.jetstream.owned import FoundStream
    from aviso_core.planning.actions import Action
    from aviso_core.planning.plan import Seen
    from aviso_core.registry.jetstream.registry import JetStreamRegistry
    from aviso_operator.apply import Done
    from support.asking import BeforeAsking

DEFAULTS: Final = StreamDefaults()
EVENTS: Final = [str(number) for number in range(20)]
NOW: Final = "2026-01-02T03:04:05Z"
# So often is looked at once before it counts as changing for ever.
MOST_LOOKS: Final = 12

Wish: TypeAlias = Desired | Removed


def owner_of(event_type: str) -> Owner:
    """Return the resource that declares an event type, in most tests."""
    return Owner("weather", event_type)


def wanted(
    event_type: str,
    *,
    description: str = "",
    uid: str = "u1",
    base: str | None = None,
    adopts: str | None = None,
    owner: Owner | None = None,
    **storage: Any,
) -> Desired:
    """Return what a resource wants."""
    declared = schema(event_type, base=base, description=description)
    if storage:
        declared = msgspec.structs.replace(
            declared, storage=msgspec.structs.replace(declared.storage or Storage(), **storage)
        )
    return Desired(owner=owner or owner_of(event_type), uid=uid, schema=declared, adopts=adopts)


def gone(event_type: str, policy: Any = "Retain") -> Removed:
    """Return that a resource is no more."""
    return Removed(owner=owner_of(event_type), event_type=event_type, policy=policy)


def event_type_of(wish: Wish) -> str:
    """Return which event type a wish is about."""
    return wish.schema.event_type if isinstance(wish, Desired) else wish.event_type


def base_of(wish: Wish) -> str:
    """Return which topic base a wish is about; what is gone had one of its own name."""
    return wish.schema.base if isinstance(wish, Desired) else wish.event_type


def actions_of(wish: Wish, seen: Seen) -> tuple[Action, ...]:
    """Return what is to be done."""
    match wish:
        case Desired():
            return make_plan(wish, seen, DEFAULTS).actions
        case Removed():
            return plan_removal(wish, seen, now=NOW)
        case _:
            assert_never(wish)


def nobody_serves() -> Propagation:
    """Return a roll on which nobody is."""
    propagation = Propagation(SystemClock(), on_news=lambda _: None, on_all=lambda _: None)
    call = RollCall()
    call.is_loaded = True
    propagation.take_call(call)
    return propagation


class Hands(NamedTuple):
    """What one operator has on the broker."""

    connection: Connection
    streams: OwnedStreams
    registry: JetStreamRegistry

    @property
    def ports(self) -> Ports:
        """Through what is applied, where nobody serves anything."""
        return Ports(self.streams, self.registry, nobody_serves(), withdrawal_seconds=0.5)

    async def see(self, wish: Wish) -> Seen:
        """Return what there is: everybody but who is said to be gone is alive."""
        return await observe(
            self.streams,
            self.registry,
            event_type=event_type_of(wish),
            base=base_of(wish),
            known=await self.registry.all(),
            is_alive=lambda owner: isinstance(wish, Desired) or owner != wish.owner,
        )

    async def plan(self, wish: Wish) -> tuple[Action, ...]:
        """Return what is left to do."""
        return actions_of(wish, await self.see(wish))

    async def converge(
        self, wish: Wish, *, tell: Callable[[Done], None] = lambda _: None, ports: Ports | None = None
    ) -> list[Done]:
        """Look, plan and apply until there is nothing left to do; return what was done."""
        done: list[Done] = []
        for _ in range(MOST_LOOKS):
            seen = await self.see(wish)
            actions = actions_of(wish, seen)
            if not actions:
                return done
            done += await apply_plan(actions, seen, ports or self.ports, tell=tell)
        raise AssertionError(f"still not as wanted after {MOST_LOOKS} looks: {await self.plan(wish)}")

    async def stream(self, base: str) -> FoundStream:
        """Return the stream of a base, which must be there."""
        found = await self.streams.find(base)
        assert found is not None, f"there is no stream of {base}"
        return found

    async def latest(self, event_type: str) -> Published:
        """Return the latest version, which must be a published one."""
        latest = await self.registry.get(event_type)
        assert isinstance(latest, Published), latest
        return latest

    async def versions(self, event_type: str) -> Sequence[Version]:
        """Return all versions that are kept."""
        return await self.registry.history(event_type)


async def apply_plan(
    actions: Sequence[Action], seen: Seen, ports: Ports, *, tell: Callable[[Done], None] = lambda _: None
) -> tuple[Done, ...]:
    """Apply a plan as far as it is still one of what there is; return what was done."""
    done: list[Done] = []

    def note(one: Done) -> None:
        done.append(one)
        tell(one)

    with suppress(LookAgain):
        await apply(actions, seen, ports, tell=note)
    return tuple(done)


@asynccontextmanager
async def open_hands(url: str, *, before: BeforeAsking | None = None) -> AsyncIterator[Hands]:
    """Connect as an operator; `before` is told of each question and each write of it."""
    async with AsyncExitStack() as stack:
        connection = await stack.enter_async_context(
            open_connection(options(url)) if before is None else open_asking_connection(options(url), before)
        )
        registry = await stack.enter_async_context(
            open_jetstream_registry(connection, schema_bucket(), is_owner=True)
        )
        yield Hands(connection, OwnedStreams(connection), registry)


# --- producers -------------------------------------------------------------------------------------------


async def produce(url: str, base: str, payloads: Sequence[str]) -> dict[int, bytes]:
    """Store events into the stream that there is; return what was acknowledged, by its sequence."""
    async with open_jetstream_log(options(url)) as log:
        # Each with a subject of its own: most streams keep the last event of each.
        records = [record(f"{base}.{payload}", payload.encode()) for payload in payloads]
        sequences = await fill(log, records, base)
        return {sequence: one.payload for sequence, one in zip(sequences, records, strict=True)}


async def stored(url: str, base: str) -> dict[int, bytes]:
    """Return what the stream of a base holds, by its sequence."""
    async with open_jetstream_log(options(url)) as log:
        return {entry.sequence: entry.payload for entry in await read_all(log, base)}
