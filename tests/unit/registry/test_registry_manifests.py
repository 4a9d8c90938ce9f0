"""What the files of a folder declare, and what is said of those that declare it badly."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from aviso_core.registry.manifests import LARGEST_FILE, FileReading, read_file, remembered, wanted_of
from support.registries import manifest, schema

if TYPE_CHECKING:
    from aviso_core.schema.model import Schema


def _yaml(*manifests: object) -> bytes:
    """Return the manifests as YAML; JSON on one line is YAML too."""
    return "\n---\n".join(map(json.dumps, manifests)).encode()


def _wanted(files: dict[str, bytes], before: dict[str, set[str]] | None = None) -> dict[str, Schema | str]:
    readings = {name: read_file(name, content) for name, content in files.items()}
    known = {name: frozenset(event_types) for name, event_types in (before or {}).items()}
    return dict(wanted_of(readings, known))


STORMS = b"""\
# Storms of all kinds.
apiVersion: aviso.dev/v1alpha1
kind: EventSchema
metadata: {name: storms}
spec:
  topic:
    base: storms
    keyOrder: [place]
  identifiers:
    - name: place
      type: String
"""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("storms.yaml", STORMS),
        ("storms.yml", b"---\n" + STORMS + b"---\n"),
        ("storms.json", json.dumps(manifest("storms")).encode()),
        ("storms.json", json.dumps(manifest("storms"), indent="\t").encode()),
    ],
)
def test_a_file_declares_an_event_type(name: str, content: bytes) -> None:
    assert _wanted({name: content}) == {"storms": schema("storms")}


def test_a_file_may_declare_several_event_types() -> None:
    wanted = _wanted({"all.yaml": _yaml(manifest("storms"), manifest("buoys"))})
    assert wanted == {"storms": schema("storms"), "buoys": schema("buoys")}


def test_an_empty_file_declares_nothing() -> None:
    assert _wanted({"empty.yaml": b"# nothing yet\n"}) == {}


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.yaml", b"a: 1\nb: ]", "a.yaml, line 2: is not YAML"),
        ("a.yaml", b"- a\n", "a.yaml, line 1: is not a mapping"),
        ("a.yaml", b"\xff", "a.yaml, line 1: is not UTF-8 text"),
        ("a.json", b'{\n"a": 1\n"b": 2}', "a.json, line 3: is not JSON"),
        ("a.json", b"[]", "a.json, line 1: is not a mapping"),
        ("a.json", b"\xff", "a.json, line 1: is not JSON"),
        ("a.json", b"[" * 100_000, "a.json, line 1: is not JSON: nested more than"),
        ("a.yaml", b"a: 1\n", "a.yaml, line 1: apiVersion: is required"),
        ("a.yaml", b"#" * (LARGEST_FILE + 1), f"a.yaml: is larger than {LARGEST_FILE} bytes"),
    ],
)
def test_a_file_that_declares_nothing_is_reported_under_its_name(
    name: str, content: bytes, reason: str
) -> None:
    wanted = _wanted({name: content})
    assert set(wanted) == {name}
    assert reason in str(wanted[name])


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (STORMS.replace(b"String", b"Strung"), 11),
        (STORMS.replace(b"base: storms", b"base: UPPER"), 7),
        (STORMS + b"      colour: red\n", 12),
        (STORMS.replace(b"    keyOrder: [place]\n", b""), 6),
        (_yaml(manifest("buoys")) + b"\n---\n" + STORMS.replace(b"String", b"Strung"), 13),
    ],
)
def test_a_fault_has_its_line(content: bytes, line: int) -> None:
    """Of what is missing, the line of the block in which it is missing."""
    reason = _wanted({"storms.yaml": content})["storms"]
    assert str(reason).startswith(f"storms.yaml, line {line}: spec.")


def test_what_only_the_checks_find_has_the_line_of_the_manifest() -> None:
    content = b"\n\n" + STORMS.replace(b"type: String", b"type: String\n      string: {pattern: '['}")
    assert str(_wanted({"storms.yaml": content})["storms"]).startswith(
        "storms.yaml, line 4: storms.identifier"
    )


def test_of_a_manifest_with_faults_the_others_in_its_file_are_taken() -> None:
    content = _yaml(manifest("storms")).replace(b"String", b"Strung") + b"\n---\n" + _yaml(manifest("buoys"))
    wanted = _wanted({"all.yaml": content})
    assert isinstance(wanted["storms"], str)
    assert wanted["buoys"] == schema("buoys")


def test_what_a_broken_file_declared_is_reported_and_not_removed() -> None:
    wanted = _wanted({"all.yaml": b"a: ["}, {"all.yaml": {"storms", "buoys"}})
    assert set(wanted) == {"storms", "buoys"}
    assert "all.yaml, line" in str(wanted["storms"])


def test_a_file_whose_name_is_no_text_is_reported_under_one_that_is() -> None:
    """The report is sent around; what cannot be written would stop it."""
    wanted = _wanted({os.fsdecode(b"\xff.yaml"): b"a: ["})
    (name,) = wanted
    assert name.isascii()
    assert name.endswith(".yaml")
    assert str(wanted[name]).isascii()


def test_a_fault_may_hide_what_was_declared_before() -> None:
    """Here the line that named the event type was lost, and with it who it is about."""
    nameless = manifest("storm-warnings")
    wanted = _wanted({"storms.yaml": _yaml(nameless)}, {"storms.yaml": {"storms"}})
    assert "is no event type" in str(wanted["storms"])
    assert "is no event type" in str(wanted["storm-warnings"])


def test_which_of_two_manifests_is_meant_is_not_guessed() -> None:
    files = {"b.yaml": STORMS, "a.yaml": _yaml(manifest("buoys"), manifest("storms"))}
    wanted = _wanted(files)
    assert wanted["storms"] == "is declared more than once: in a.yaml, line 3 and in b.yaml, line 2"
    assert wanted["buoys"] == schema("buoys")


def test_a_file_is_remembered_by_what_it_declared_when_it_was_whole() -> None:
    whole = read_file("all.yaml", _yaml(manifest("storms")))
    before = frozenset({"buoys"})
    assert remembered(whole, before) == {"storms"}
    assert remembered(FileReading(fault="broken"), before) == {"buoys"}
    faulty = read_file("all.yaml", _yaml(manifest("storms")).replace(b"String", b"Strung"))
    assert remembered(faulty, before) == {"storms", "buoys"}
