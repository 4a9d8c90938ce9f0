"""The reference page is what the code makes of itself, and its tables leave nothing out and invent nothing."""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING, get_args

import pytest

from aviso_core.planning import plan
from aviso_operator import apply, conditions
from aviso_operator.options import help_texts
from aviso_operator.reference import REASONS, main, page
from aviso_operator.resources import ConditionStatus
from repo.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def test_the_page_is_up_to_date(tmp_path: Path) -> None:
    """`make reference` writes it anew."""
    main(tmp_path)
    written = (tmp_path / "operator.md").read_text(encoding="utf-8")
    assert written == page()
    assert (ROOT / "docs" / "reference" / "operator.md").read_text(encoding="utf-8") == written


@pytest.mark.parametrize("name", help_texts())
def test_a_help_is_as_wide_as_the_page(name: str) -> None:
    assert max(map(len, help_texts()[name].splitlines())) <= 112


def _said_by_conditions() -> set[str]:
    """Return the reasons that stand in calls of `Verdict`."""
    calls = [
        node
        for node in ast.walk(ast.parse(inspect.getsource(conditions)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Verdict"
    ]
    reasons = [call.args[2] for call in calls]
    return {ast.literal_eval(reason) for reason in reasons if isinstance(reason, ast.Constant)}


def _said_by_the_broker() -> set[str]:
    """Return the reasons for what the broker refuses: what `_reason` returns."""
    (function,) = ast.parse(inspect.getsource(apply._reason)).body
    returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
    return {ast.literal_eval(value) for value in returned if value is not None}


def test_every_reason_that_can_be_given_is_explained_and_no_other() -> None:
    explained = {one.reason for one in REASONS}
    assert explained == _said_by_conditions() | set(get_args(plan.Reason)) | _said_by_the_broker()


def test_conditions_are_explained_in_the_order_in_which_they_are_said() -> None:
    names = list(dict.fromkeys(one.condition for one in REASONS))
    assert names == ["Ready", "Accepted", "StreamReady", "Propagated", "Reconciling", "Stalled", "Drifted"]
    assert {one.status for one in REASONS} <= set(get_args(ConditionStatus))
    assert len({(one.condition, one.status, one.reason) for one in REASONS}) == len(REASONS)
