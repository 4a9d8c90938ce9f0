"""`avisod schema diff FILE --live` against a broker: what is told of what is there, and that nothing is touched."""

from __future__ import annotations

import asyncio
import io
import json
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pytest

from aviso_all_in_one.__main__ import perform
from aviso_all_in_one.command.arguments import parse
from aviso_core.broker.connection import open_connection
from aviso_core.eventlog.base import Record
from aviso_core.eventlog.jetstream.owned import OwnedStreams
from aviso_core.plain.yaml_text import yaml_text
from aviso_core.registry.acknowledgements import Answer
from aviso_core.registry.base import Owner
from aviso_core.registry.jetstream.acknowledgements import (
    acknowledgement_bucket,
    open_jetstream_acknowledgements,
)
from aviso_core.registry.jetstream.registry import open_jetstream_registry, schema_bucket
from aviso_core.schema.manifest import read_manifest
from aviso_core.schema.model import Schema, Storage, Topic
from aviso_core.schema.stamps import Stamps
from aviso_core.schema.stream import StreamDefaults, wanted_stream
from support.event_logs import ask_broker, open_owning_log, options
from support.nats import running_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.nats import Server

OWNER: Final = Owner("weather", "alerts")
MESSAGES: Final = 12


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Run a broker for one test."""
    with running_server(tmp_path / "nats") as server:
        yield server


def manifest(**changes: Any) -> dict[str, Any]:
    """Return the manifest with other members of its spec."""
    return {
        "apiVersion": "aviso.dev/v1alpha1",
        "kind": "EventSchema",
        "metadata": {"name": "alerts"},
        "spec": {
            "eventType": "alert",
            "topic": {"base": "alert", "keyOrder": ["region"]},
            "identifiers": [
                {"name": "region", "type": "String"},
                {"name": "level", "type": "Enum", "enum": {"values": ["low", "high"]}},
            ],
            "storage": {"retention": "7d"},
            **changes,
        },
    }


def schema_of(document: dict[str, Any]) -> Schema:
    """Return what a manifest declares."""
    schema, faults = read_manifest(document)
    assert schema is not None, faults
    return schema


async def _publish(url: str, schema: Schema, *, messages: int = MESSAGES) -> int:
    """Do what the operator and two processes would have done, one of which does not keep up."""
    wanted = wanted_stream(schema, StreamDefaults())
    async with open_connection(options(url)) as connection:
        stamps = Stamps(owner=str(OWNER), uid="1", event_type="alert", key_order=schema.routed)
        await OwnedStreams(connection).create(wanted, stamps.metadata())
        async with open_owning_log(url, wanted=lambda base: wanted) as log:
            await log.append_all("alert", [Record(subject="alert.x", payload=b"{}") for _ in range(messages)])
        async with open_jetstream_registry(connection, schema_bucket(), is_owner=True) as registry:
            revision = await registry.publish(schema, expected_revision=0, owner=OWNER, uid="1")
        bucket = acknowledgement_bucket()
        async with open_jetstream_acknowledgements(connection, bucket, is_owner=True) as acknowledgements:
            await acknowledgements.report("ingest/a", {"alert": Answer(revision=revision)})
            await acknowledgements.report("stream-gateway/b", {})
    return revision


def _live(server: Server, folder: Path, document: dict[str, Any], *arguments: str) -> tuple[int, str, str]:
    file = folder / "alerts.yaml"
    file.write_text(yaml_text(document))
    out, err = io.StringIO(), io.StringIO()
    wanted = parse(["schema", "diff", str(file), "--live", "--log", server.url, *arguments])
    code = perform(wanted, environ={}, out=out, err=err)
    return code, out.getvalue().replace(str(file), "alerts.yaml"), err.getvalue()


def _told(server: Server, folder: Path, document: dict[str, Any], *arguments: str) -> dict[str, Any]:
    _, out, err = _live(server, folder, document, "--json", *arguments)
    assert not err
    (told,) = json.loads(out)["event_types"]
    assert isinstance(told, dict)
    return told


def _everything(url: str) -> Any:
    """Return all streams of the broker with what they hold; consumers come and go."""
    answer = asyncio.run(ask_broker(url, "STREAM.LIST", {}))
    for stream in answer["streams"]:
        stream.pop("ts", None)
        stream["state"].pop("consumer_count")
    return sorted(answer["streams"], key=lambda stream: stream["config"]["name"])


def test_an_installation_with_nothing_in_it_would_get_a_stream_and_a_schema(
    server: Server, tmp_path: Path
) -> None:
    """There is not even a registry yet, and after it there is none either."""
    assert _live(server, tmp_path, manifest()) == (
        0,
        "alert (alerts.yaml:1), as EventSchema default/alerts\n"
        "  now         never published; no stream\n"
        "  served by   no process that is alive\n"
        "  would do    create stream ALERT\n"
        "              publish alert over revision 0\n"
        "\n"
        "harmless: 1 of 1 would change, and nobody loses anything by it\n",
        "",
    )
    assert _everything(server.url) == []


def test_what_is_as_it_should_be_is_left_alone(server: Server, tmp_path: Path) -> None:
    """Whose the manifest is shows in what is published; and who serves it is told by name."""
    asyncio.run(_publish(server.url, schema_of(manifest())))
    before = _everything(server.url)
    code, out, err = _live(server, tmp_path, manifest())
    assert (code, err) == (0, "")
    assert out == (
        "alert (alerts.yaml:1), as EventSchema weather/alerts\n"
        "  now         revision 1 for EventSchema weather/alerts; stream ALERT with 12 messages\n"
        "  served by   1 of 2 processes: ingest/a; stream-gateway/b is at revision 0\n"
        "  would do    nothing\n"
        "\n"
        "harmless: 0 of 1 would change, and nobody loses anything by it\n"
    )
    assert _everything(server.url) == before


def test_a_change_that_costs_something_is_told_with_what_it_costs(server: Server, tmp_path: Path) -> None:
    """The stream first, and the schema that would be refused."""
    asyncio.run(_publish(server.url, schema_of(manifest())))
    narrower = manifest(
        storage={"retention": "7d", "maxMessages": 5},
        identifiers=[
            {"name": "region", "type": "String"},
            {"name": "level", "type": "Enum", "enum": {"values": ["low"]}},
        ],
        compatibility="None",
    )
    before = _everything(server.url)
    code, out, _ = _live(server, tmp_path, narrower)
    assert code == 1
    assert (
        "  would do    publish alert over revision 1\n"
        "  refused     WouldLoseData: this deletes stored messages (there are 12) at once: max_messages: -1 → 5; "
        "set spec.storage.shrink: Allow to mean it\n"
        "  loses       7 of 12 messages by max_messages, once spec.storage.shrink is Allow\n"
        "  breaks      identifier.level: value 'high' was removed (accept at least what was accepted before)\n"
    ) in out
    assert out.endswith("not without harm: alert\n")
    assert _everything(server.url) == before


def test_how_many_messages_are_too_old_is_counted(server: Server, tmp_path: Path) -> None:
    """They are stored a moment ago, so a minute's retention would cost none of them."""
    asyncio.run(_publish(server.url, schema_of(manifest())))
    shorter = manifest(storage={"retention": "1m", "shrink": "Allow"})
    told = _told(server, tmp_path, shorter)
    assert told["losses"] == [
        {"setting": "max_age_seconds", "at_most": 0, "is_exact": True, "is_planned": True}
    ]
    assert told["actions"] == [
        "change stream ALERT: max_age_seconds: 604800 → 60; duplicate_window_seconds: 120 → 60",
        "publish alert over revision 1",
    ]


def test_a_namespace_decides_whose_it_is(server: Server, tmp_path: Path) -> None:
    """One in the manifest goes before the one that is told."""
    asyncio.run(_publish(server.url, schema_of(manifest())))
    told = _told(server, tmp_path, manifest(), "--namespace", "ocean")
    assert told["owner"] == "ocean/alerts"
    assert [one["reason"] for one in told["obstacles"]] == ["Conflicted"]
    said = manifest()
    said["metadata"]["namespace"] = "weather"
    assert _told(server, tmp_path, said, "--namespace", "ocean")["obstacles"] == []


def test_a_stream_that_somebody_made_is_taken_over_where_that_is_said(server: Server, tmp_path: Path) -> None:
    bare = Schema(
        event_type="alert",
        topic=Topic(base="ALERT", key_order=("region",)),
        storage=Storage(retention_seconds=604_800, keep_all=True),
    )

    async def make() -> None:
        async with open_connection(options(server.url)) as connection:
            await OwnedStreams(connection).create(wanted_stream(bare, StreamDefaults()), {})

    asyncio.run(make())
    assert [one["reason"] for one in _told(server, tmp_path, manifest())["obstacles"]] == ["ForeignStream"]
    adopting = manifest()
    adopting["metadata"]["annotations"] = {"aviso.dev/adopt-stream": "ALERT"}
    told = _told(server, tmp_path, adopting)
    assert told["obstacles"] == []
    assert told["actions"] == [
        "stamp stream ALERT as of default/alerts",
        "publish alert over revision 0",
    ]


@pytest.mark.parametrize("policy", ["Observe", "Paused"])
def test_what_would_be_done_is_not_done_where_the_manifest_says_so(
    server: Server, tmp_path: Path, policy: str
) -> None:
    _, out, _ = _live(server, tmp_path, manifest(reconcilePolicy=policy))
    assert "publish alert over revision 0\n" in out
    assert f"but reconcilePolicy is {policy}" in out


def test_a_withdrawn_event_type_is_told_as_such(server: Server, tmp_path: Path) -> None:
    schema = schema_of(manifest())

    async def withdraw() -> None:
        revision = await _publish(server.url, schema)
        async with (
            open_connection(options(server.url)) as connection,
            open_jetstream_registry(connection, schema_bucket(), is_owner=True) as registry,
        ):
            await registry.withdraw("alert", expected_revision=revision)

    asyncio.run(withdraw())
    told = _told(server, tmp_path, manifest(), "--namespace", "weather")
    assert told["now"] == {
        "revision": 2,
        "state": "withdrawn",
        "owner": "",
        "stream": "ALERT",
        "messages": MESSAGES,
    }
    assert told["actions"] == ["publish alert over revision 2"]


def test_what_keeps_it_from_looking_is_told(server: Server, tmp_path: Path) -> None:
    """Faults of the file first, then a configuration, then a broker that is not there."""
    code, out, err = _live(server, tmp_path, manifest(storage={"retention": "7x"}))
    assert (code, out) == (2, "")
    assert "spec.storage.retention" in err
    code, _, err = _live(server, tmp_path, {"notification_schema": {"a": {"identifier": {}}}})
    assert code == 2
    assert "is a configuration, which nobody applies" in err
    server.stop()
    configuration = tmp_path / "services.yaml"
    jetstream = {"timeout_seconds": 1, "retry_attempts": 1}
    backend = {"kind": "jetstream", "jetstream": jetstream}
    configuration.write_bytes(
        msgspec.json.encode({"application": {"host": "h", "port": 1}, "notification_backend": backend})
    )
    code, out, err = _live(server, tmp_path, manifest(), "--config", str(configuration))
    assert (code, out) == (2, "")
    assert err.startswith("avisod: ")
