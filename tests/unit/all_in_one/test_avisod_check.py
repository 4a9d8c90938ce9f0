"""`avisod check`: every fault, with the line where it stands and what to write instead."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from aviso_all_in_one.__main__ import perform
from aviso_all_in_one.command.arguments import parse
from aviso_all_in_one.files.declaration import manifest_path
from aviso_all_in_one.sample import SAMPLES_FOLDER
from aviso_core.fields.text import TextField
from aviso_core.schema.model import Schema

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = (SAMPLES_FOLDER / "model-output.yaml").read_text()
CONFIGURATION = """\
application: {host: 127.0.0.1, port: 8000}
notification_backend: {kind: in_memory}
notification_schema:
  buoys:
    topic: {base: buoys, key_order: [net]}
    identifier:
      net: {type: StringHandler, required: true}
"""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _check(*arguments: str, **environ: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = perform(parse(["check", *arguments]), environ=environ, out=out, err=err)
    return code, out.getvalue(), err.getvalue()


def _report(*arguments: str, **environ: str) -> dict[str, Any]:
    _, out, err = _check(*arguments, "--json", **environ)
    assert not err
    report: dict[str, Any] = json.loads(out)
    return report


def _places(*arguments: str, **environ: str) -> list[tuple[int | None, str]]:
    return [(fault["line"], fault["path"]) for fault in _report(*arguments, **environ)["faults"]]


def _write(tmp_path: Path, **files: str) -> None:
    for name, text in files.items():
        (tmp_path / f"{name}.yaml").write_text(text)


# --- good ones --------------------------------------------------------------------------------------------


def test_files_without_faults_are_named_with_what_they_declare(tmp_path: Path) -> None:
    _write(tmp_path, config=CONFIGURATION, type=MANIFEST)
    assert _check("config.yaml", "type.yaml") == (
        0,
        "config.yaml: configuration with buoys: good\ntype.yaml: manifest with model_output: good\nno faults\n",
        "",
    )


def test_a_folder_is_read_as_the_service_would(tmp_path: Path) -> None:
    """Hidden files, other files and folders inside are passed over."""
    folder = tmp_path / "schemas"
    (folder / "inner.yaml").mkdir(parents=True)
    (folder / "a.yaml").write_text(MANIFEST)
    (folder / ".b.yaml").write_text("x: [")
    (folder / "notes.txt").write_text("x: [")
    (folder / "empty.yml").write_text("# nothing yet\n")
    report = _report("schemas")
    assert report["ok"]
    assert [one["file"] for one in report["checked"]] == ["schemas/a.yaml"]


def test_a_file_may_hold_several_manifests(tmp_path: Path) -> None:
    texts = [path.read_text() for path in sorted(SAMPLES_FOLDER.iterdir())]
    _write(tmp_path, all="---\n".join(texts))
    report = _report("all.yaml")
    assert [one["event_types"] for one in report["checked"]] == [
        ["model_output"],
        ["moving_storm"],
        ["weather_alert"],
    ]


def test_a_manifest_may_be_json_with_tabs(tmp_path: Path) -> None:
    manifest = {
        "apiVersion": "aviso.dev/v1alpha1",
        "kind": "EventSchema",
        "metadata": {"name": "x"},
        "spec": {
            "topic": {"base": "x", "keyOrder": ["a"]},
            "identifiers": [{"name": "a", "type": "String"}],
        },
    }
    (tmp_path / "x.json").write_text(json.dumps(manifest, indent="\t"))
    assert _check("x.json")[0] == 0


# --- faults of manifests ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "line", "path"),
    [
        ("base: model", "base: Model!", 10, "spec.topic.base"),
        ("max: 1200", "max: many", 46, "spec.identifiers[6].int.max"),
        ("max: 1200", "max: -1", 44, "spec.identifiers[6].int"),
        ("retention: 7d", "retention: soon", 48, "spec.storage.retention"),
        ("domain, step]", "domain, depth]", 11, "spec.topic.keyOrder"),
        ("values: [g, m]", "values: []", 40, "spec.identifiers[5].enum.values"),
        ("type: Date", "type: Day", 31, "spec.identifiers[3].type"),
        ("kind: EventSchema", "kind: EventScheme", 3, "kind"),
        ("name: stream", "name: class", 19, "spec.identifiers[1].name"),
        ("  storage:", "  payload: {jsonSchema: {type: 7}}\n  storage:", 47, "spec.payload.jsonSchema"),
        ("  storage:", "  shelf:", 47, "spec.shelf"),
        ('pattern: "[a-z]+"', 'pattern: "["', 19, "spec.identifiers[1]"),
    ],
)
def test_a_fault_of_a_manifest_is_told_with_its_line(
    old: str, new: str, line: int, path: str, tmp_path: Path
) -> None:
    assert MANIFEST.count(old) == 1
    _write(tmp_path, type=MANIFEST.replace(old, new))
    assert (line, path) in _places("type.yaml")
    assert _check("type.yaml")[0] == 1


def test_all_faults_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    bad = MANIFEST.replace("base: model", "base: Model!").replace("retention: 7d", "retention: soon")
    _write(tmp_path, a=f"{bad}---\n{bad}", b="x: [")
    code, out, _ = _check("a.yaml", "b.yaml")
    assert code == 1
    no_duration = "'soon' is no duration: a whole number and one of s, m, h, d, w, such as 12h or 7d"
    assert [line for line in out.splitlines() if not line.startswith(" ")] == [
        "a.yaml:10: spec.topic.base: 'Model!' is no topic base: [a-z][a-z0-9_-]*, at most 32 characters",
        f"a.yaml:48: spec.storage.retention: {no_duration}",
        "a.yaml:61: spec.topic.base: 'Model!' is no topic base: [a-z][a-z0-9_-]*, at most 32 characters",
        f"a.yaml:99: spec.storage.retention: {no_duration}",
        "b.yaml:2: is not YAML: did not find expected node content",
        "5 faults",
    ]


def test_manifests_that_are_given_together_must_fit_together(tmp_path: Path) -> None:
    other = MANIFEST.replace("eventType: model_output", "eventType: other")
    _write(tmp_path, a=MANIFEST, b=MANIFEST, c=MANIFEST, d=other)
    report = _report("a.yaml", "b.yaml", "c.yaml", "d.yaml")
    assert [(fault["file"], fault["line"], fault["path"]) for fault in report["faults"]] == [
        ("b.yaml", 5, "metadata.name"),
        ("c.yaml", 5, "metadata.name"),
        ("d.yaml", 10, "spec.topic.base"),
    ]
    assert report["faults"][0]["message"] == "Event type 'model_output' is declared twice, first in a.yaml:2"


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("x", "spec"),
        ("x.topic.key_order", "spec.topic.keyOrder"),
        ("x.identifier", "spec.identifiers"),
        ("x.identifier.b", "spec.identifiers[1]"),
        ("x.identifier.b.default", "spec.identifiers[1].default"),
        ("x.payload.json_schema", "spec.payload.jsonSchema"),
        ("x.storage.duplicate_window", "spec.storage.duplicateWindow"),
        ("x.max_historical_notifications", "spec.maxHistoricalNotifications"),
    ],
)
def test_the_path_of_a_rule_leads_back_to_that_of_the_manifest(path: str, place: str) -> None:
    schema = Schema(event_type="x", fields=(TextField(name="a"), TextField(name="b")))
    assert manifest_path(path, schema) == place


# --- faults of configurations -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "line", "path"),
    [
        ("port: 8000", "port: many", 1, "application.port"),
        ("kind: in_memory", "kind: kafka", 2, "notification_backend.kind"),
        (", port: 8000", "", 1, "application.port"),
        ("base: buoys", "base: 'b s'", 5, "notification_schema.buoys.topic.base"),
        ("key_order: [net]", "key_order: [nte]", 5, "notification_schema.buoys.topic.key_order"),
        ("StringHandler", "NoHandler", 7, "notification_schema.buoys.identifier.net.type"),
        ("required: true}", "max_lenght: 3}", 7, "notification_schema.buoys.identifier.net.max_lenght"),
        ("notification_schema:", "auth: {enabled: true}\nnotification_schema:", 3, "auth.admin_roles"),
        ("notification_schema:", "auth: {enbled: true}\nnotification_schema:", 3, "auth.enbled"),
        (
            "    identifier:",
            "    auth: {required: true}\n    identifier:",
            6,
            "notification_schema.buoys.auth.required",
        ),
        ("notification_schema:", "metrics: {enabled: true}\nnotification_schema:", 3, "metrics.port"),
    ],
)
def test_a_fault_of_a_configuration_is_told_with_its_line(
    old: str, new: str, line: int, path: str, tmp_path: Path
) -> None:
    assert CONFIGURATION.count(old) == 1
    _write(tmp_path, config=CONFIGURATION.replace(old, new))
    assert (line, path) in _places("config.yaml")


def test_faults_of_shape_hide_no_others(tmp_path: Path) -> None:
    """A start would tell those of the schema and of the other blocks only when the port is mended."""
    text = CONFIGURATION.replace("8000", "many").replace("in_memory", "kafka").replace("[net]", "[]")
    _write(tmp_path, config=text)
    assert _places("config.yaml") == [
        (1, "application.port"),
        (2, "notification_backend.kind"),
        (5, "notification_schema.buoys.topic.key_order"),
    ]


def test_a_configuration_is_checked_with_the_environment(tmp_path: Path) -> None:
    """A secret that comes from there is not missing, and what it spoils is not blamed on a line."""
    _write(
        tmp_path, config=CONFIGURATION + "auth: {enabled: true, mode: trusted_proxy, admin_roles: {m: [a]}}\n"
    )
    assert _places("config.yaml") == [(8, "auth.jwt_secret")]
    assert not _places("config.yaml", AVISOSERVER_AUTH__JWT_SECRET="x")
    (fault,) = _report("config.yaml", AVISOSERVER_AUTH__JWT_SECRET=" ")["faults"]
    assert fault["line"] is None
    assert fault["message"] == "is empty, as the environment variable AVISOSERVER_AUTH__JWT_SECRET sets it"
    assert _places("config.yaml", AVISOSERVER_AUTH__JWT_SECRET="x", AVISOSERVER_AUTH__X="y") == [
        (None, "auth.x")
    ]


def test_no_finding_shows_a_secret(tmp_path: Path) -> None:
    _write(
        tmp_path,
        config=CONFIGURATION + "auth: {jwt_secret: [correct-horse]}\necpds: {password: [correct-horse]}\n",
    )
    code, out, err = _check("config.yaml")
    assert code == 1
    assert "correct-horse" not in out + err


# --- what is no such file ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"a: [", "x.yaml:2: is not YAML"),
        (b"\xff", "x.yaml:1: is not UTF-8 text"),
        (b"- 1", "x.yaml:1: is not a mapping"),
        (
            b"\nhello: 1\n",
            "x.yaml:2: is neither an EventSchema manifest nor a configuration: its keys are hello",
        ),
        (b"{}", "x.yaml:1: is neither an EventSchema manifest nor a configuration: it is empty"),
        (b"", "x.yaml:1: is neither an EventSchema manifest nor a configuration: it holds nothing"),
        (
            b"# one day\n---\n",
            "x.yaml:1: is neither an EventSchema manifest nor a configuration: it holds nothing",
        ),
        (
            b"application: {}\n---\napplication: {}\n",
            "x.yaml:1: is a configuration in a file with other documents",
        ),
        (b"\x1b]0;title\x07: 1", "x.yaml:1: "),
    ],
)
def test_what_cannot_be_understood_is_a_fault_of_the_file(content: bytes, told: str, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(content)
    code, out, _ = _check("x.yaml")
    assert code == 1
    assert out.startswith(told)
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{\n\n'a': 1}", "x.json:3: is not JSON"),
        ("[1]", "x.json:1: is not a mapping"),
        ("[" * 1000, "x.json:1: is not JSON: nested more than"),
        ('{"kind": 1e999999999999999999999}', "x.json:1: "),
    ],
)
def test_json_is_read_as_json(content: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(content)
    code, out, _ = _check("x.json")
    assert code == 1
    assert out.startswith(told)


def test_what_cannot_be_read_is_told_apart_from_faults(tmp_path: Path) -> None:
    """It goes to standard error and has an exit code of its own, also when the rest is good."""
    _write(tmp_path, type=MANIFEST)
    (tmp_path / "void").mkdir()
    code, out, err = _check("type.yaml", "none.yaml", "void")
    assert code == 2
    assert out == "type.yaml: manifest with model_output: good\n0 faults, 2 not read\n"
    assert [line for line in err.splitlines() if not line.startswith(" ")] == [
        "none.yaml: cannot be read: No such file or directory",
        "void: is a folder without any file to read",
    ]


def test_a_file_whose_name_is_no_text_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "a\udcff.yaml").write_text("x: [")
    code, out, _ = _check("a\udcff.yaml")
    assert code == 1
    assert out.startswith("a\\xff.yaml:")


def test_a_manifest_that_no_service_would_read_is_refused_for_its_size(tmp_path: Path) -> None:
    _write(tmp_path, type=MANIFEST + "#" * 1024 * 1024)
    (fault,) = _report("type.yaml")["faults"]
    assert "no service would read it" in fault["message"]
