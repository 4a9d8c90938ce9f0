"""The set of areas against a plain list, with enough of them for trees to be built and thrown away."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

import shapely
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)
from shapely.affinity import translate

from aviso_core.matching.areas import AreaSet, Predicate

if TYPE_CHECKING:
    from hypothesis.stateful import MultipleResults

    from aviso_core.geometry.plane import Figure


def _box(x: int, y: int, width: int, height: int) -> Figure:
    return shapely.box(x, y, x + width, y + height)


_coordinates: Final = st.integers(0, 12)
_sides: Final = st.integers(1, 8)
_figures: Final[st.SearchStrategy[Figure]] = st.one_of(
    st.builds(shapely.Point, _coordinates, _coordinates),
    st.builds(_box, _coordinates, _coordinates, _sides, _sides),
)


class _AreasBesideAList(RuleBasedStateMachine):
    """Adds, removes and looks up in both."""

    predicate: ClassVar[Predicate]
    added: Bundle[int] = Bundle("added")

    @initialize()
    def begin(self) -> None:
        self.areas: AreaSet[int] = AreaSet(self.predicate)
        self.listed: dict[int, Figure] = {}
        self.serial = 0

    @rule(target=added, figures=st.lists(_figures, min_size=1, max_size=3))
    def add(self, figures: list[Figure]) -> MultipleResults[int]:
        return multiple(*map(self._add, figures))

    @rule(target=added, figure=_figures, count=st.integers(15, 40))
    def add_many(self, figure: Figure, count: int) -> MultipleResults[int]:
        return multiple(*(self._add(translate(figure, by / 8, by / 16)) for by in range(count)))

    def _add(self, figure: Figure) -> int:
        self.serial += 1
        self.areas.add(figure, self.serial)
        self.listed[self.serial] = figure
        return self.serial

    @rule(item=consumes(added))
    def remove(self, item: int) -> None:
        # Several at once may have removed it already.
        if self.listed.pop(item, None) is not None:
            self.areas.remove(item)

    @rule(every=st.integers(2, 4))
    def remove_many(self, every: int) -> None:
        for item in list(self.listed)[::every]:
            self.remove(item)

    @rule(figure=_figures, times=st.integers(1, 4))
    def look_up(self, figure: Figure, times: int) -> None:
        does_meet = shapely.intersects if self.predicate == "intersects" else shapely.contains
        meets = does_meet(figure, list(self.listed.values())) if self.listed else ()
        expected = [item for item, does in zip(self.listed, meets, strict=True) if does]
        for _ in range(times):
            assert sorted(self.areas.meeting(figure)) == expected

    @invariant()
    def has_as_many(self) -> None:
        assert len(self.areas) == len(self.listed)

    def teardown(self) -> None:
        for item in self.listed:
            self.areas.remove(item)
        assert len(self.areas) == 0
        assert not self.areas.meeting(shapely.box(-99, -99, 99, 99))


class _Touching(_AreasBesideAList):
    predicate = "intersects"


class _Inside(_AreasBesideAList):
    predicate = "contains"


# Each example is long; fewer of them find as much.
_fewer: Final = settings(max_examples=max(10, settings().max_examples // 4))

TestTouching = _Touching.TestCase
TestTouching.settings = _fewer
TestInside = _Inside.TestCase
TestInside.settings = _fewer
