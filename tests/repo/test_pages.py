"""The pages about the project keep the form that they promise."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from repo.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

_DOCS: Final = ROOT / "docs"
_KINDS: Final = ("added", "changed", "fixed", "removed", "security")


def _headings(page: Path) -> list[str]:
    return re.findall(r"^## (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)


def _records() -> list[Path]:
    return sorted((_DOCS / "decisions").glob("[0-9]*.md"))


def test_decisions_have_the_sections_of_the_template() -> None:
    """Whoever opens one finds the same things in the same places."""
    wanted = _headings(_DOCS / "decisions" / "template.md")
    assert not [record.name for record in _records() if _headings(record) != wanted]


def test_decisions_say_whether_they_hold() -> None:
    """Below its title, and where another took its place, a record leads there."""
    beginning = re.compile(r"# .+\n\nStatus: (accepted|superseded by \[.+\]\(.+\))\n")
    assert not [r.name for r in _records() if not beginning.match(r.read_text(encoding="utf-8"))]


def test_decisions_are_numbered_and_listed() -> None:
    """Numbers have no gap and no double, and the index leads to each record, in order."""
    names = [record.name for record in _records()]
    assert [name[:5] for name in names] == [f"{number:04}-" for number in range(1, len(names) + 1)]
    index = (_DOCS / "decisions" / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\((\d[^)]+)\)", index) == names


def test_a_fragment_says_its_kind_and_something() -> None:
    """A release can be put together from them by their names alone."""
    fragments = [path for path in (_DOCS / "changes").iterdir() if path.name != "README.md"]
    assert not [
        path.name
        for path in fragments
        if not re.fullmatch(rf"[a-z0-9-]+\.({'|'.join(_KINDS)})\.md", path.name)
    ]
    assert all(path.read_text(encoding="utf-8").strip() for path in fragments)


def test_the_glossary_is_in_order() -> None:
    """A word is found, and cannot be explained twice."""
    words = re.findall(
        r"^\| \*\*(.+?)\*\*", (_DOCS / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert words
    assert words == sorted(set(words))


def test_the_architecture_names_every_room_of_the_core() -> None:
    """A room that the page does not name is one that nobody will find."""
    page = (_DOCS / "architecture.md").read_text(encoding="utf-8")
    core = ROOT / "libs" / "aviso_core" / "src" / "aviso_core"
    modules = {path.stem for path in core.glob("[a-z]*.py")}
    packages = {f"{path.parent.name}/" for path in core.glob("*/__init__.py")}
    assert modules | packages <= set(re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE))
