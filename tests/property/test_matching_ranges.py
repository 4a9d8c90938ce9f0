"""The set of ranges against a plain list."""

from __future__ import annotations

from typing import Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from aviso_core.matching.ranges import RangeSet

_LAST: Final = 2**64 - 1

# All sizes of numbers, their neighbours, and a few that come up again and again.
_keys: Final = st.one_of(
    st.integers(0, _LAST),
    st.integers(0, 64).flatmap(lambda bits: st.integers(max(0, 2**bits - 2), min(_LAST, 2**bits + 1))),
    st.integers(0, 64).map(lambda bits: _LAST - min(_LAST, 2**bits)),
    st.sampled_from((0, 1, 2, 7, 2**63 - 1, 2**63, _LAST - 1, _LAST)),
)
_ranges: Final = st.tuples(_keys, _keys).map(lambda ends: (min(ends), max(ends)))


class RangesBesideAList(RuleBasedStateMachine):
    """Adds, removes and looks up in both."""

    added: Bundle[tuple[int, int, int]] = Bundle("added")

    @initialize()
    def begin(self) -> None:
        self.ranges: RangeSet[int] = RangeSet()
        self.listed: list[tuple[int, int, int]] = []
        self.serial = 0

    @rule(target=added, ends=_ranges)
    def add(self, ends: tuple[int, int]) -> tuple[int, int, int]:
        return self._add(*ends)

    @rule(target=added, other=added, shift=st.integers(-1, 1))
    def add_beside(self, other: tuple[int, int, int], shift: int) -> tuple[int, int, int]:
        low, high = (min(_LAST, max(0, end + shift)) for end in other[:2])
        return self._add(low, high)

    def _add(self, low: int, high: int) -> tuple[int, int, int]:
        self.serial += 1
        one = (low, high, self.serial)
        self.ranges.add(*one)
        self.listed.append(one)
        return one

    @rule(one=consumes(added))
    def remove(self, one: tuple[int, int, int]) -> None:
        self.ranges.remove(*one)
        self.listed.remove(one)

    @rule(key=_keys)
    def look_up(self, key: int) -> None:
        self._look_up(key)

    def _look_up(self, key: int) -> None:
        found = self.ranges.holding(key)
        assert sorted(found) == [item for low, high, item in self.listed if low <= key <= high]

    @rule(one=added, side=st.sampled_from((0, 1)), shift=st.integers(-1, 1))
    def look_up_near_an_end(self, one: tuple[int, int, int], side: int, shift: int) -> None:
        self._look_up(min(_LAST, max(0, one[side] + shift)))

    @invariant()
    def has_as_many(self) -> None:
        assert len(self.ranges) == len(self.listed)

    def teardown(self) -> None:
        for one in self.listed:
            self.ranges.remove(*one)
        assert len(self.ranges) == 0
        assert not self.ranges._heights, "nothing is left behind"


TestRangesBesideAList = RangesBesideAList.TestCase
# Each example is long; fewer of them find as much.
TestRangesBesideAList.settings = settings(max_examples=settings().max_examples // 2)
