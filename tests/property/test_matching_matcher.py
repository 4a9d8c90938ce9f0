"""The matcher, and what explains it, against the plain answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aviso_core.matching.candidate import CandidateMaker
from aviso_core.matching.explain import explain
from aviso_core.matching.index import Index
from aviso_core.matching.matcher import Matcher
from support import worlds


@given(st.data())
def test_matcher_index_and_explanation_give_the_plain_answer(data: st.DataObject) -> None:
    """One filter and a few events: whoever is asked, the same events are selected."""
    world = data.draw(worlds.worlds())
    wish = data.draw(worlds.wishes(world))
    matcher = Matcher(wish.filter)
    index: Index[str] = Index(world.schema)
    index.add(wish.filter, "somebody")
    make = CandidateMaker(world.schema)
    for happening in data.draw(st.lists(worlds.happenings(world, wish), min_size=1, max_size=5)):
        expected = worlds.is_selected(wish, happening)
        assert matcher.selects(make.of(happening.event)) == expected
        assert [entry.filter for entry in index.selecting(happening.event)] == [wish.filter] * expected
        explanation = explain(wish.filter, make.of(happening.event))
        assert explanation.selected == expected
        assert all(clause.passed for clause in explanation.clauses) == expected
