"""Files with several documents, and the lines of what stands in them."""

from __future__ import annotations

import pytest
import yaml

from aviso_core.plain.yaml_lines import lines_of_document
from aviso_core.plain.yaml_mapping import FASTEST_PARSER, MAX_DOCUMENTS, Document, read_mappings

PARSERS = [FASTEST_PARSER, yaml.SafeLoader]


def _fault(content: bytes) -> str:
    documents, fault = read_mappings(content, name="all.yaml")
    assert documents == []
    return str(fault)


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize(
    ("content", "documents"),
    [
        (b"", []),
        (b"# nothing\n", []),
        (b"a: 1\n", [({"a": 1}, 1)]),
        (b"\n---\n# first\na: no\n", [({"a": "no"}, 4)]),
        (b"a: 1\n---\nb: 2\n", [({"a": 1}, 1), ({"b": 2}, 3)]),
        (b"---\n---\na: 1\n---\n---\n{b: 2}\n---\n", [({"a": 1}, 3), ({"b": 2}, 6)]),
        (b"a: 1\n...\n---\nb: 2\n", [({"a": 1}, 1), ({"b": 2}, 4)]),
    ],
)
def test_every_document_is_read_with_its_line(
    parser: type, content: bytes, documents: list[tuple[dict[str, object], int]]
) -> None:
    """What separators leave behind at either end is no document."""
    read, fault = read_mappings(content, name="all.yaml", parser=parser)
    assert fault is None
    assert read == [Document(*document) for document in documents]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a: 1\n---\nb: ]\n", "all.yaml, line 3: is not YAML"),
        (b"a: 1\n---\n- b\n", "all.yaml, line 3: is not a mapping"),
        (b"a: 1\n---\n!x b: 1\n", "all.yaml, line 3: has a tag that is not taken"),
        (b"a: &it 1\n---\nb: *it\n", "all.yaml, line 3: has an alias to nothing"),
    ],
)
def test_a_fault_in_any_document_is_a_fault_of_the_file(content: bytes, message: str) -> None:
    """An anchor ends with its document."""
    assert message in _fault(content)


def test_documents_are_bounded() -> None:
    full = b"---\na: 1\n" * MAX_DOCUMENTS
    assert len(read_mappings(full, name="all.yaml")[0]) == MAX_DOCUMENTS
    assert f"line {2 * MAX_DOCUMENTS + 1}: has more than {MAX_DOCUMENTS} documents" in _fault(full + b"---\n")


CONTENT = b"""\
# first
---
spec:
  topic:
    base: storms
  list:
    - name: a

    - {name: b, "dotted.key": 1,
       last: 2}
---
spec: 1
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("spec", 3),
        ("spec.topic.base", 5),
        ("spec.list", 6),
        ("spec.list[0].name", 7),
        ("spec.list[1]", 9),
        ("spec.list[1].last", 10),
        ("spec.list[1].dotted.key", 9),
        ("spec.topic.missing", 4),
        ("spec.list[7].name", 6),
        ("missing", 3),
        ("specification", 3),
    ],
)
def test_a_setting_has_its_line(path: str, line: int) -> None:
    """One that is missing has the line of what it is missing in."""
    assert lines_of_document(CONTENT, 3).line_of(path) == line


def test_each_document_has_its_own_lines() -> None:
    assert lines_of_document(CONTENT, 12).line_of("spec.topic") == 12


@pytest.mark.parametrize("content", [b'{"b":\n"\\ud83d\\ude00", "a": 1}', b"\xff", b"a: ["])
def test_where_nothing_can_be_found_there_is_the_beginning(content: bytes) -> None:
    """JSON may be written in ways that YAML does not take."""
    assert lines_of_document(content, 1).line_of("a") == 1
