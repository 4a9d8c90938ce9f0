"""The index while filters come and go, against the matcher and the plain answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from aviso_core.matching.candidate import CandidateMaker
from aviso_core.matching.index import Index
from aviso_core.matching.matcher import Matcher
from support import worlds

if TYPE_CHECKING:
    from support.worlds import Happening, Wish, World


class _IndexBesideAList(RuleBasedStateMachine):
    """Adds, removes and looks up in both; subscribers share filters."""

    @initialize(world=worlds.worlds())
    def begin(self, world: World) -> None:
        self.world = world
        self.index: Index[int] = Index(world.schema)
        self.listed: list[tuple[Wish, dict[int, None]]] = []

    @rule(data=st.data(), subscriber=st.integers(0, 9))
    def add(self, data: st.DataObject, subscriber: int) -> None:
        self._add(data.draw(worlds.wishes(self.world)), subscriber)

    @rule(data=st.data(), count=st.integers(15, 25))
    def add_many(self, data: st.DataObject, count: int) -> None:
        """Enough at once for trees of areas to be built."""
        for subscriber in range(count):
            self._add(data.draw(worlds.wishes(self.world)), subscriber)

    @precondition(lambda self: self.listed)
    @rule(data=st.data(), subscriber=st.integers(0, 9))
    def join(self, data: st.DataObject, subscriber: int) -> None:
        wish, _ = data.draw(st.sampled_from(self.listed))
        self._add(wish, subscriber)

    def _add(self, wish: Wish, subscriber: int) -> None:
        entry = self.index.add(wish.filter, subscriber)
        for other, subscribers in self.listed:
            if other.filter == wish.filter:
                subscribers[subscriber] = None
                break
        else:
            subscribers = {subscriber: None}
            self.listed.append((wish, subscribers))
        assert list(entry.subscribers) == list(subscribers)

    @precondition(lambda self: self.listed)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        place = data.draw(st.integers(0, len(self.listed) - 1))
        wish, subscribers = self.listed[place]
        subscriber = data.draw(st.sampled_from(list(subscribers)))
        self.index.remove(wish.filter, subscriber)
        del subscribers[subscriber]
        if not subscribers:
            del self.listed[place]

    @rule(data=st.data())
    def look_up(self, data: st.DataObject) -> None:
        near = data.draw(st.sampled_from(self.listed))[0] if self.listed else None
        self._look_up(data.draw(worlds.happenings(self.world, near)))

    def _look_up(self, happening: Happening) -> None:
        found = {entry.filter: list(entry.subscribers) for entry in self.index.selecting(happening.event)}
        expected = {
            wish.filter: list(subscribers)
            for wish, subscribers in self.listed
            if worlds.is_selected(wish, happening)
        }
        assert found == expected
        candidate = CandidateMaker(self.world.schema).of(happening.event)
        assert {w.filter for w, _ in self.listed if Matcher(w.filter).selects(candidate)} == expected.keys()

    @invariant()
    def has_as_many(self) -> None:
        assert len(self.index) == len(self.listed)

    def teardown(self) -> None:
        for wish, subscribers in self.listed:
            for subscriber in subscribers:
                self.index.remove(wish.filter, subscriber)
        assert len(self.index) == 0
        assert not self.index._groups, "nothing is left behind"


TestIndexBesideAList = _IndexBesideAList.TestCase
# Each example is long; fewer of them find as much.
TestIndexBesideAList.settings = settings(
    max_examples=max(10, settings().max_examples // 6), stateful_step_count=30
)
