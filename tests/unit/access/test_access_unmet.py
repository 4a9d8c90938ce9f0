"""Event types of a registry that ask for what the settings have off: closed, and the log says what to do."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import pytest

from aviso_core.schema.catalog import build_catalog
from aviso_core.schema.manifest import read_manifest
from aviso_http.access.unmet import UnmetDemands, unmet_by
from support.access import settings
from support.event_logs import asynchronous
from support.registries import manifest
from support.services import running_service

if TYPE_CHECKING:
    from pathlib import Path

    from aviso_core.schema.model import Schema

ECPDS = {
    "username": "service",
    "password": "correct-horse",
    "servers": ["https://ecpds.example"],
    "match_key": "place",
}


def _manifest(auth: dict[str, Any] | None, *, required: bool = True) -> dict[str, Any]:
    written = manifest("storms")
    written["spec"]["identifiers"][0]["required"] = required
    return written if auth is None else written | {"spec": written["spec"] | {"auth": auth}}


def _schema(auth: dict[str, Any] | None, *, required: bool = True) -> Schema:
    read, faults = read_manifest(_manifest(auth, required=required))
    assert read is not None, faults
    return read


READERS = {"required": True, "read": [{"realm": "main", "roles": ["reader"]}]}
PLUGIN = {"required": True, "plugins": ["ecpds"]}


@pytest.mark.parametrize(
    ("auth", "enabled", "ecpds", "told"),
    [
        ({"required": False}, False, None, []),
        ({"required": False}, True, None, []),
        (None, True, None, []),
        (READERS, True, None, []),
        (PLUGIN, True, ECPDS, []),
        (None, False, None, ["asks for authentication while auth is disabled"]),
        (
            READERS,
            False,
            None,
            ["asks for authentication while auth is disabled", "lists roles while auth is disabled"],
        ),
        (PLUGIN, True, None, ["is required by the plugins of: storms"]),
        (PLUGIN, True, ECPDS | {"servers": []}, ["names no server"]),
        (PLUGIN, True, ECPDS | {"match_key": "port"}, ["has no field 'port', which ecpds.match_key names"]),
    ],
)
def test_what_an_event_type_cannot_have_is_told_with_a_remedy(
    auth: dict[str, Any] | None, enabled: bool, ecpds: dict[str, Any] | None, told: list[str]
) -> None:
    unmet = list(unmet_by(settings(ecpds=ecpds, enabled=enabled), _schema(auth)))
    assert [fault.message for fault in unmet] == told
    assert all(fault.remedy for fault in unmet)


def test_a_destination_that_a_request_may_leave_out_is_told() -> None:
    (fault,) = unmet_by(settings(ecpds=ECPDS), _schema(PLUGIN, required=False))
    assert fault.path.startswith("notification_schema.storms.identifier.place")


def test_it_is_told_once_for_as_long_as_it_stands(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    closed, good = build_catalog([_schema(None)]), build_catalog([_schema({"required": False})])
    unmet = UnmetDemands(settings(enabled=False))
    for catalog, records in ((closed, 1), (closed, 1), (good, 1), (closed, 2)):
        unmet.tell(catalog)
        assert len(caplog.records) == records
    record = caplog.records[0]
    assert vars(record)["attributes"] == {"event_type": "storms"}
    assert "asks for authentication while auth is disabled" in record.getMessage()
    assert "set auth.enabled to true" in record.getMessage()


@asynchronous
async def test_over_http_such_an_event_type_is_closed_and_the_others_are_not(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, auth in (("storms", None), ("winds", {"required": False})):
        written = manifest(name)
        written["spec"] |= {} if auth is None else {"auth": auth}
        (tmp_path / f"{name}.yaml").write_text(json.dumps(written))
    registry = {"kind": "folder", "folder": str(tmp_path)}
    async with running_service({"registry": registry}) as service:
        body = {"event_type": "storms", "identifier": {"place": "here"}, "payload": None}
        refused = await service.notify(body)
        assert refused.status == 401
        assert refused.json["code"] == "UNAUTHORIZED"
        assert "set auth.enabled to true" in refused.json["message"]
        assert (await service.notify(body | {"event_type": "winds"})).status == 200
    logged = [json.loads(line) for line in capfd.readouterr().out.splitlines() if line.startswith("{")]
    (closed,) = [
        each for each in logged if each["attributes"].get("event.name") == "configuration.schema.closed"
    ]
    assert closed["severityText"] == "WARN"
    assert closed["attributes"]["event_type"] == "storms"
