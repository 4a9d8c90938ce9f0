"""`avisod schema import`: manifests of a configuration, and all that they cannot say, with file and line."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from aviso_all_in_one.__main__ import perform
from aviso_all_in_one.command.arguments import parse
from aviso_all_in_one.importing.names import base_name, event_type_name, identifier_name, object_name

CONFIGURATION = """\
application: {host: 0.0.0.0, port: 8000}
notification_backend:
  kind: jetstream
  jetstream: {nats_url: "nats://localhost:4222"}
notification_schema:
  weather_alert:
    topic: {base: ALERT, key_order: [region, level]}
    identifier:
      region: {type: StringHandler, max_length: 20, required: true, description: "Where: a region."}
      level: {type: EnumHandler, values: [low, high, "no"], required: false}
      polygon: {type: PolygonHandler, required: false}
    payload: {required: true}
    auth: {required: true, read_roles: {main: ["*"]}}
    storage_policy: {retention_time: 2w, max_size: 10Gi, allow_duplicates: true}
"""
MANIFEST = """\
apiVersion: aviso.dev/v1alpha1
kind: EventSchema
metadata:
  name: weather-alert
spec:
  eventType: weather_alert
  topic:
    base: alert
    keyOrder:
      - region
      - level
  identifiers:
    - name: region
      type: String
      required: true
      description: 'Where: a region.'
      string:
        maxLength: 20
    - name: level
      type: Enum
      required: false
      enum:
        values:
          - low
          - high
          - 'no'
    - name: polygon
      type: Polygon
      required: false
  payload:
    required: true
  auth:
    required: true
    read:
      - realm: main
        roles:
          - '*'
  storage:
    retention: '14d'
    maxBytes: 10737418240
"""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _import(*arguments: str, configuration: str | None = CONFIGURATION) -> tuple[int, str, str]:
    if configuration is not None:
        Path("config.yaml").write_text(configuration, encoding="utf-8")
    out, err = io.StringIO(), io.StringIO()
    code = perform(parse(["schema", "import", "config.yaml", *arguments]), environ={}, out=out, err=err)
    return code, out.getvalue(), err.getvalue()


_KEPT_BY_ALL = "kind: jetstream, jetstream: {retention_time: 7d}"


def _declaring(event_type: str, *, backend: str = _KEPT_BY_ALL) -> str:
    return f"notification_backend: {{{backend}}}\nnotification_schema:\n{event_type}"


def _notes(configuration: str, *arguments: str) -> list[tuple[str, int, str]]:
    """Return the kind of each note, its line and its path."""
    _, out, err = _import("--json", *arguments, configuration=configuration)
    assert not err
    return [(one["kind"], one["about"]["line"], one["about"]["path"]) for one in json.loads(out)["notes"]]


# --- manifests --------------------------------------------------------------------------------------------


def test_an_event_type_becomes_a_manifest() -> None:
    code, out, err = _import()
    assert (code, out) == (0, MANIFEST)
    assert (
        "config.yaml:7: note: notification_schema.weather_alert.topic.base: topic base 'ALERT' is 'alert'"
        in err
    )
    assert "changed" not in err


def test_with_adopt_it_takes_over_the_stream_of_its_base() -> None:
    """Then nothing is said about streams that are left alone."""
    _, out, err = _import("--adopt")
    assert "  annotations:\n    aviso.dev/adopt-stream: ALERT\n" in out
    assert "--adopt" not in err
    assert "import with --adopt to take them over" in _import()[2]


def test_a_folder_gets_one_file_for_each() -> None:
    code, out, _ = _import("--output", "new/manifests")
    assert (code, out) == (0, "")
    assert {path.name: path.read_text() for path in Path("new/manifests").iterdir()} == {
        "weather-alert.yaml": MANIFEST
    }
    assert _import("--output", "new/manifests")[0] == 0, "what says the same already is no trouble"


def test_nothing_is_written_over_what_says_something_else() -> None:
    """Nor is anything written beside it: half of an import is none."""
    Path("manifests").mkdir()
    Path("manifests/weather-alert.yaml").write_text("mine")
    more = CONFIGURATION + "  other: {identifier: {a: {type: TimeHandler, required: true}}}\n"
    code, out, err = _import("--output", "manifests", configuration=more)
    assert (code, out) == (2, "")
    assert err.startswith("manifests/weather-alert.yaml: is there already and says something else\n")
    assert [path.name for path in Path("manifests").iterdir()] == ["weather-alert.yaml"]


def test_a_folder_that_cannot_be_written_is_told() -> None:
    Path("file").write_text("")
    code, _, err = _import("--output", "file")
    assert code == 2
    assert err.startswith("file: cannot be written: ")


def test_several_make_one_stream_of_documents() -> None:
    more = CONFIGURATION + "  other: {identifier: {a: {type: TimeHandler, required: true}}}\n"
    _, out, _ = _import(configuration=more)
    assert out.startswith(f"{MANIFEST}---\napiVersion: ")


def test_a_program_gets_one_document() -> None:
    code, out, err = _import("--json", "--output", "manifests")
    report = json.loads(out)
    assert (code, err, report["complete"]) == (0, "", True)
    assert report["manifests"][0]["metadata"] == {"name": "weather-alert"}
    assert Path("manifests/weather-alert.yaml").exists()


# --- what there is to say ---------------------------------------------------------------------------------

_KEY = "identifier: {k: {type: StringHandler, required: true}}"
_TOPIC = f"topic: {{base: t, key_order: [k]}}, {_KEY}"
_KEPT = "storage_policy: {retention_time: 7d}"
_SAID = f"auth: {{required: true}}, {_KEPT}"


@pytest.mark.parametrize(
    ("block", "kind", "path"),
    [
        (f"t: {{{_TOPIC}, {_KEPT}}}", "note", "t.auth"),
        (f"t: {{{_TOPIC}, {_KEPT}, auth: {{required: false, read_roles: {{m: [a]}}}}}}", "note", "t.auth"),
        (f"t: {{{_KEY}}}", "note", "t.topic"),
        (f"t: {{topic: {{base: T, key_order: [k]}}, {_KEY}, {_SAID}}}", "note", "t.topic.base"),
        (f"t: {{{_TOPIC}, {_SAID}, endpoint: 1}}", "note", "t.endpoint"),
        (f"t: {{topic: {{base: t, key_order: [k], separator: '.'}}, {_KEY}, {_SAID}}}", "note", "t.topic.separator"),
        (f"T-1: {{{_TOPIC}, {_SAID}}}", "changed", "T-1"),
        (f"t: {{topic: {{base: 1t, key_order: [k]}}, {_KEY}, {_SAID}}}", "changed", "t.topic.base"),
        (
            f"t: {{topic: {{base: t, key_order: [payload]}}, identifier: {{payload: {{type: TimeHandler, "
            f"required: true}}}}, {_SAID}}}",
            "changed",
            "t.identifier.payload",
        ),
        (
            f"t: {{topic: {{base: t, key_order: [k, polygon]}}, identifier: {{k: {{type: TimeHandler, required: true}}"
            f", polygon: {{type: PolygonHandler, required: true}}}}, {_SAID}}}",
            "changed",
            "t.topic.key_order",
        ),
        (f"t: {{{_TOPIC}, auth: {{required: true}}}}", "note", "t.storage_policy"),
        (
            f"t: {{{_TOPIC}, auth: {{required: true}}, storage_policy: {{retention_time: 5000d}}}}",
            "changed",
            "t.storage_policy.retention_time",
        ),
        (
            f"t: {{{_TOPIC}, auth: {{required: true}}, storage_policy: {{retention_time: 1d, max_size: 1K}}}}",
            "changed",
            "t.storage_policy.max_size",
        ),
        ("t: {identifier: {}}", "left out", "t.identifier"),
        (
            f"t: {{topic: {{base: t, key_order: [polygon]}}, identifier: {{polygon: {{type: PolygonHandler, "
            f"required: true}}}}, {_SAID}}}",
            "left out",
            "t.topic.key_order",
        ),
        (f"t: {{{_TOPIC}, auth: {{required: true, read_roles: {{}}}}, {_KEPT}}}", "left out", "t.auth.read_roles"),
        (f"t: {{{_TOPIC}, auth: {{required: true, plugins: [x]}}, {_KEPT}}}", "left out", "t.auth.plugins"),
        (
            f"t: {{topic: {{base: t, key_order: [k]}}, identifier: {{k: {{type: EnumHandler, required: true, "
            f"values: [{'x' * 65}]}}}}, {_SAID}}}",
            "left out",
            "t.identifier.k.values",
        ),
    ],
)  # fmt: skip
def test_what_is_not_said_as_it_was_is_told(block: str, kind: str, path: str) -> None:
    """By its path and with its line; and the exit code tells whether that matters."""
    configuration = _declaring(f"  {block}\n")
    notes = _notes(configuration)
    assert (kind, 3, f"notification_schema.{path}") in notes
    assert {other for other, *_ in notes} <= {"note", kind}
    code, out, _ = _import(configuration=configuration)
    assert code == (0 if kind == "note" else 1)
    assert bool(out) is (kind != "left out")


def test_settings_of_the_services_stay_where_they_are() -> None:
    assert [note for note in _notes(CONFIGURATION) if "." not in note[2]] == [
        ("note", 1, "application"),
        ("note", 2, "notification_backend"),
        ("note", 5, "notification_schema"),
        ("note", 5, "notification_schema"),
        ("note", 5, "notification_schema"),
    ]


def test_a_service_without_a_broker_needs_one() -> None:
    block = f"  t: {{{_TOPIC}, {_SAID}}}\n"
    notes = _notes(_declaring(block, backend="kind: in_memory"))
    assert ("changed", 1, "notification_backend.kind") in notes
    assert ("note", 1, "notification_backend") in notes


def test_what_was_kept_for_ever_is_kept_as_long_as_can_be() -> None:
    configuration = _declaring(f"  t: {{{_TOPIC}}}\n", backend="kind: jetstream")
    assert ("changed", 3, "notification_schema.t.storage_policy") in _notes(configuration)
    assert "    retention: '3650d'\n" in _import(configuration=configuration)[1]


def test_what_streams_are_like_in_an_installation_is_what_its_manifests_say() -> None:
    """A manifest has defaults of its own for how long events are kept, and where."""
    backend = "kind: jetstream, jetstream: {retention_time: 36h, storage_type: memory}"
    _, out, _ = _import(configuration=_declaring(f"  t: {{{_TOPIC}}}\n", backend=backend))
    assert "  storage:\n    retention: '36h'\n    medium: Memory\n    duplicates: LatestPerSubject\n" in out


def test_two_that_would_be_called_the_same_are_not_both_made() -> None:
    """Who is called as before goes before who would be called the same by now, wherever it stands."""
    names = ("A-b", "x"), ("a_b", "y")
    two = [f"  {name}: {{topic: {{base: {base}, key_order: [k]}}, {_KEY}}}\n" for name, base in names]
    notes = _notes(_declaring("".join(two)))
    assert ("left out", 3, "notification_schema.A-b") in notes
    assert not [
        note for note in notes if note[0] == "left out" and note[2].startswith("notification_schema.a_b")
    ]


def test_a_shape_in_the_topic_keeps_a_stream_from_being_taken_over() -> None:
    """What is stored has other values in its subjects than the manifest says."""
    block = (
        "  t: {topic: {base: t, key_order: [k, polygon]}, identifier: {k: {type: TimeHandler, required: true}, "
        "polygon: {type: PolygonHandler, required: true}}}\n"
    )
    _, out, err = _import("--adopt", configuration=_declaring(block))
    assert "annotations" not in out
    assert "stream T is not taken over" in err


@pytest.mark.parametrize(
    ("configuration", "told"),
    [
        (None, "config.yaml: cannot be read: No such file or directory"),
        (MANIFEST, "config.yaml: holds manifests, or more than one document"),
        ("application: {}\n", "config.yaml: declares no event type"),
        (CONFIGURATION.replace("EnumHandler", "X"), "config.yaml:10: notification_schema.weather_alert"),
    ],
)
def test_what_cannot_be_imported_is_told(configuration: str | None, told: str) -> None:
    code, out, err = _import(configuration=configuration)
    assert (code, out) == (2, "")
    assert err.startswith(told)


# --- names ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "name", "near"),
    [
        (event_type_name, "weather_alert", "weather_alert"),
        (event_type_name, "Weather-Alert 2", "weather_alert_2"),
        (event_type_name, "2nd", "e2nd"),
        (event_type_name, "ÄRA", "e_ra"),
        (event_type_name, "x" * 70, "x" * 63),
        (base_name, "Weather-Alert", "weather-alert"),
        (base_name, "1t", "t1t"),
        (identifier_name, "to_id", "to_id_"),
        (identifier_name, "Step-Range", "step_range"),
        (identifier_name, "_x", "i_x"),
        (object_name, "weather_alert", "weather-alert"),
        (object_name, "a_", "a"),
    ],
)
def test_the_nearest_name_is_taken(make: Any, name: str, near: str) -> None:
    assert make(name) == near
