"""`avisod schema diff`: what changed between two versions, and what of it breaks somebody."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from aviso_all_in_one.__main__ import perform
from aviso_all_in_one.command.arguments import parse
from aviso_all_in_one.comparison import changes, compare
from aviso_all_in_one.sample import SAMPLES_FOLDER
from aviso_core.fields.choice import ChoiceField
from aviso_core.fields.text import TextField
from aviso_core.schema.model import PayloadRules, Schema, Topic

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = (SAMPLES_FOLDER / "weather-alert.yaml").read_text()
CONFIGURATION = """\
notification_schema:
  weather_alert:
    topic: {base: alert, key_order: [region]}
    identifier:
      region: {type: EnumHandler, values: [north], required: false}
"""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _diff(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = perform(parse(["schema", "diff", *arguments]), environ={}, out=out, err=err)
    return code, out.getvalue(), err.getvalue()


def _changed(tmp_path: Path, **replacements: str) -> dict[str, Any]:
    new = MANIFEST
    for old, text in replacements.items():
        key = old.replace("_", " ")
        assert key in new
        new = new.replace(key, text)
    (tmp_path / "old.yaml").write_text(MANIFEST)
    (tmp_path / "new.yaml").write_text(new)
    _, out, _ = _diff("old.yaml", "new.yaml", "--json")
    difference: dict[str, Any] = json.loads(out)
    return difference


def test_the_same_is_compatible(tmp_path: Path) -> None:
    difference = _changed(tmp_path)
    assert difference["compatible"]
    assert difference["event_types"][0]["state"] == "unchanged"
    assert _diff("old.yaml", "new.yaml")[0] == 0


def test_a_table_tells_what_breaks_and_what_does_not(tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text(MANIFEST)
    new = MANIFEST.replace("fog, ", "").replace("max: 5", "max: 6").replace("retention: 3d", "retention: 4d")
    (tmp_path / "new.yaml").write_text(new)
    assert _diff("old.yaml", "new.yaml") == (
        1,
        "EVENT TYPE     VERDICT     WHERE                        WHAT\n"
        "weather_alert  breaks      identifier.hazard            "
        "value 'fog' was removed (accept at least what was accepted before)\n"
        "weather_alert  compatible  identifier.severity.maximum  5 → 6\n"
        "weather_alert  compatible  storage.retention_seconds    259200 → 345600\n"
        "\n"
        "incompatible: 1 change would break producers, readers or stored events\n",
        "",
    )


def test_what_is_there_on_one_side_only_was_added_or_removed(tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text(MANIFEST)
    assert _diff("old.yaml", str(SAMPLES_FOLDER))[0] == 0
    code, out, _ = _diff(str(SAMPLES_FOLDER), "old.yaml", "--json")
    assert code == 1
    told = {one["event_type"]: (one["state"], one["compatible"]) for one in json.loads(out)["event_types"]}
    assert told == {
        "model_output": ("removed", False),
        "moving_storm": ("removed", False),
        "weather_alert": ("unchanged", True),
    }


def test_one_on_each_side_are_compared_whatever_they_are_called(tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text(MANIFEST)
    (tmp_path / "new.yaml").write_text(MANIFEST.replace("eventType: weather_alert", "eventType: alerts"))
    code, out, _ = _diff("old.yaml", "new.yaml")
    assert code == 1
    assert "was 'weather_alert', is 'alerts'" in out


def test_configurations_can_be_compared_even_unfinished_ones(tmp_path: Path) -> None:
    """What is wrong with their other blocks has no part in it."""
    (tmp_path / "old.yaml").write_text(CONFIGURATION)
    (tmp_path / "new.yaml").write_text(CONFIGURATION.replace("[north]", "[north, south]"))
    assert _diff("old.yaml", "new.yaml")[0] == 0
    assert _diff("new.yaml", "old.yaml")[0] == 1


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "new.yaml: cannot be read: No such file or directory"),
        ("x: [", "new.yaml:2: is not YAML"),
        (MANIFEST.replace("base: alert", "base: A!"), "new.yaml:10: spec.topic.base"),
        (
            f"{MANIFEST}---\n{MANIFEST}",
            "new.yaml:54: metadata.name: Event type 'weather_alert' is declared twice",
        ),
        ("application: {}\n", "new.yaml: declares no event type"),
        (
            CONFIGURATION.replace("EnumHandler", "X"),
            "new.yaml:5: notification_schema.weather_alert.identifier",
        ),
    ],
)
def test_what_cannot_be_compared_is_told_on_standard_error(
    content: str | None, told: str, tmp_path: Path
) -> None:
    (tmp_path / "old.yaml").write_text(MANIFEST)
    if content is not None:
        (tmp_path / "new.yaml").write_text(content)
    code, out, err = _diff("old.yaml", "new.yaml")
    assert (code, out) == (2, "")
    assert err.startswith(told)


# --- the comparison itself --------------------------------------------------------------------------------

OLD = Schema(
    event_type="x",
    topic=Topic(base="x", key_order=("a",)),
    fields=(TextField(name="a"), ChoiceField(name="b", values=("p", "q"), default="p")),
    payload=PayloadRules(json_schema={"type": "object"}),
)


def test_the_order_of_declaration_is_no_change() -> None:
    """Only the key order means something."""
    turned = Schema(event_type="x", topic=OLD.topic, fields=OLD.fields[::-1], payload=OLD.payload)
    assert not list(changes(OLD, turned))


@pytest.mark.parametrize(
    ("new", "told"),
    [
        (Schema(event_type="x"), ["identifier.a.type", "identifier.b.default", "identifier.b.type"]),
        (
            Schema(event_type="x", topic=OLD.topic, fields=OLD.fields, payload=PayloadRules()),
            ["payload.json_schema"],
        ),
        (
            Schema(
                event_type="x", topic=OLD.topic, fields=OLD.fields, payload=OLD.payload, description="new"
            ),
            ["description"],
        ),
    ],
)
def test_every_member_that_differs_is_told_by_its_path(new: Schema, told: list[str]) -> None:
    assert set(told) <= {change.path for change in changes(OLD, new)}


def test_a_change_that_breaks_is_not_told_a_second_time() -> None:
    narrow = Schema(
        event_type="x",
        topic=OLD.topic,
        fields=(OLD.fields[0], ChoiceField(name="b", values=("p",), default="p")),
        payload=OLD.payload,
        description="new",
    )
    (comparison,) = compare({"x": OLD}, {"x": narrow})
    assert [fault.path for fault in comparison.breaks] == ["identifier.b"]
    assert [change.path for change in comparison.changes] == ["description"]
