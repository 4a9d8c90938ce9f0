"""`avisod schema diff FILE --live`: which comparison is meant, which broker, and what is told of what was seen."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest

from aviso_all_in_one.__main__ import perform
from aviso_all_in_one.command.arguments import parse
from aviso_all_in_one.command.wanted import SchemaDiff, SchemaLive
from aviso_all_in_one.live.sight import Sight, Stream, Wish
from aviso_all_in_one.sample import SAMPLES_FOLDER
from aviso_core.plain.yaml_mapping import read_mapping
from aviso_core.planning.plan import SeenStream
from aviso_core.registry.acknowledgements import Answer
from aviso_core.registry.base import Owner, Published, Unreadable, Version, hash_of
from aviso_core.schema.manifest import read_manifest
from aviso_core.schema.model import encode_schema
from aviso_core.schema.stamps import Stamps
from aviso_core.schema.stream import StreamDefaults, wanted_stream

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from aviso_all_in_one.live.sight import Look
    from aviso_core.settings.model import JetStream

MANIFEST = (SAMPLES_FOLDER / "weather-alert.yaml").read_text()
OWNER = Owner("weather", "weather-alert")
"""The sample's name, as somebody has applied it."""


def _sample() -> Published:
    document, _ = read_mapping(MANIFEST.encode(), name="x.yaml")
    schema, _ = read_manifest(document)
    assert schema is not None
    return Published(
        event_type="weather_alert",
        revision=7,
        schema=schema,
        spec_hash=hash_of(encode_schema(schema)),
        owner=OWNER,
        uid="1",
    )


def _stream(*, first: int = 1, last: int = 12, too_old: int = 0, messages: int = 12) -> Stream:
    schema = _sample().schema
    return Stream(
        seen=SeenStream(
            configuration=wanted_stream(schema, StreamDefaults()),
            created="then",
            stamps=Stamps(owner=str(OWNER), uid="1", event_type="weather_alert", key_order=schema.routed),
            messages=messages,
            bytes=3_000_000,
            first_sequence=first,
            last_sequence=last,
        ),
        too_old=too_old,
    )


def _seeing(sight: Sight, asked: list[Any]) -> Look:
    async def look(jetstream: JetStream, wishes: Sequence[Wish]) -> Sight:
        asked.append((jetstream.nats_url, *wishes))
        return sight

    return look


def _live(
    tmp_path: Path, manifest: str, sight: Sight, *arguments: str, **environ: str
) -> tuple[int, str, str, list[Any]]:
    file = tmp_path / "new.yaml"
    file.write_text(manifest)
    out, err, asked = io.StringIO(), io.StringIO(), []  # type: ignore[var-annotated]  # what a look was asked for
    code = perform(
        parse(["schema", "diff", str(file), "--live", *(arguments or ("--log", "nats://broker:4222"))]),
        environ=environ,
        out=out,
        err=err,
        look=_seeing(sight, asked),
    )
    return code, out.getvalue(), err.getvalue(), asked


# --- arguments --------------------------------------------------------------------------------------------


def test_live_takes_one_place_and_otherwise_there_are_two() -> None:
    assert parse(["schema", "diff", "a", "b"]) == SchemaDiff(old="a", new="b")
    assert parse(["schema", "diff", "a", "--live", "--json"]) == SchemaLive(path="a", json=True)
    assert parse(["schema", "diff", "--live", "--namespace", "n", "--config", "c", "a"]) == SchemaLive(
        path="a", namespace="n", config="c"
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("a", "name NEW as well, or --live"),
        ("a b --live", "leave NEW out"),
        ("a b --config c", "--config goes with --live"),
        ("a b --namespace n", "--namespace goes with --live"),
        ("a --live --log memory", "write the broker's address"),
    ],
)
def test_what_does_not_go_together_is_refused(
    arguments: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(["schema", "diff", *arguments.split()])
    assert caught.value.code == 2
    assert told in capsys.readouterr().err


# --- settings ---------------------------------------------------------------------------------------------


def test_the_broker_is_that_of_the_settings(tmp_path: Path) -> None:
    """A flag goes before the environment, as it does when serving."""
    environ = {
        "AVISOSERVER_NOTIFICATION_BACKEND__KIND": "jetstream",
        "AVISOSERVER_NOTIFICATION_BACKEND__JETSTREAM__NATS_URL": "nats://a:1",
    }
    wish = Wish(base="alert", max_age_seconds=3 * 86_400)
    *_, asked = _live(tmp_path, MANIFEST, Sight(), "--json", **environ)
    assert asked == [("nats://a:1", wish)]
    *_, asked = _live(tmp_path, MANIFEST, Sight(), "--log", "nats://b:2", **environ)
    assert asked == [("nats://b:2", wish)]


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({}, "notification_backend.kind: is in_memory: nothing is live but in the service itself"),
        ({"AVISOSERVER_NOTIFICATION_BACKEND__KIND": "other"}, "Unknown notification_backend kind: other"),
        ({"AVISOSERVER_CONFIG_FILE": "/nowhere.yaml"}, "/nowhere.yaml"),
    ],
)
def test_settings_without_a_broker_are_refused(tmp_path: Path, environ: dict[str, str], told: str) -> None:
    code, out, err, asked = _live(tmp_path, MANIFEST, Sight(), "--json", **environ)
    assert (code, out, asked) == (2, "", [])
    assert told in err


# --- what is told -----------------------------------------------------------------------------------------


def _sight(latest: Version | None = None, stream: Stream | None = None, **processes: Answer) -> Sight:
    return Sight(
        versions={} if latest is None else {"weather_alert": latest},
        streams={} if stream is None else {"alert": stream},
        reports={name.replace("__", "/"): {"weather_alert": answer} for name, answer in processes.items()},
    )


def test_who_serves_it_is_told_by_name_and_who_does_not_by_why(tmp_path: Path) -> None:
    sight = _sight(
        _sample(),
        _stream(),
        ingest__a=Answer(revision=7),
        ingest__b=Answer(revision=6),
        schema__c=Answer(revision=7, error="no such handler"),
    )
    _, out, _, _ = _live(tmp_path, MANIFEST, sight)
    assert (
        "  served by   1 of 3 processes: ingest/a; ingest/b is at revision 6; "
        "schema/c refuses revision 7: no such handler\n"
    ) in out


@pytest.mark.parametrize(
    ("change", "stream", "told"),
    [
        ("retention: 1d", _stream(too_old=5), "5 of 12 messages by max_age_seconds"),
        ("retention: 1d", _stream(too_old=5, last=20), "up to 5 of 12 messages by max_age_seconds"),
        ("retention: 1d", _stream(too_old=0, last=20), "0 of 12 messages by max_age_seconds"),
        ("retention: 3d\n    maxMessages: 10", _stream(), "2 of 12 messages by max_messages"),
        ("retention: 3d\n    maxBytes: 2Mi", _stream(), "up to 12 of 12 messages by max_bytes"),
        (
            "retention: 3d\n    duplicates: LatestPerSubject",
            _stream(),
            "up to 12 of 12 messages by max_messages_per_subject",
        ),
    ],
)
def test_how_many_messages_would_be_lost_is_told_as_exactly_as_can_be(
    tmp_path: Path, change: str, stream: Stream, told: str
) -> None:
    """Whether they would be lost at once, or as soon as that is allowed."""
    manifest = MANIFEST.replace("retention: 3d", change)
    code, out, _, _ = _live(tmp_path, manifest, _sight(_sample(), stream))
    assert code == 1
    assert f"  loses       {told}, once spec.storage.shrink is Allow\n" in out
    allowed = manifest.replace("  storage:\n", "  storage:\n    shrink: Allow\n")
    code, out, _, _ = _live(tmp_path, allowed, _sight(_sample(), stream))
    assert code == 1
    assert f"  loses       {told}\n" in out


@pytest.mark.parametrize("limit", ["maxMessages: 12", "maxBytes: 3Mi"])
def test_a_limit_that_everything_fits_below_loses_nothing(tmp_path: Path, limit: str) -> None:
    manifest = MANIFEST.replace("retention: 3d", f"retention: 3d\n    {limit}")
    code, out, _, _ = _live(tmp_path, manifest, _sight(_sample(), _stream()))
    assert code == 0
    assert "loses" not in out.partition("harmless")[0]
    assert "would do    change stream" in out


def test_what_this_build_cannot_read_is_told_as_such(tmp_path: Path) -> None:
    latest = Unreadable(event_type="weather_alert", revision=9, reason="new", owner=Owner("ocean", "x"))
    code, out, _, _ = _live(tmp_path, MANIFEST, _sight(latest))
    assert code == 1
    assert (
        "  now         revision 9, which this avisod cannot read for EventSchema ocean/x; no stream\n" in out
    )
    assert "  refused     Conflicted: event type 'weather_alert' is declared by EventSchema ocean/x" in out


def test_a_harmless_change_is_told_with_all_that_it_changes(tmp_path: Path) -> None:
    code, out, _, _ = _live(tmp_path, MANIFEST.replace("max: 5", "max: 6"), _sight(_sample(), _stream()))
    assert code == 0
    assert (
        "  would do    publish weather_alert over revision 7\n"
        "  changes     identifier.severity.maximum: 5 → 6\n"
        "\n"
        "harmless: 1 of 1 would change, and nobody loses anything by it\n"
    ) in out
