"""What the benchmark of ingest posts is what the core takes: a rate of refusals would be worth nothing."""

from __future__ import annotations

import json

import pytest

from aviso_core.request import decode_body
from aviso_core.settings.loader import load
from aviso_core.startup import configured_catalog
from bench_ingest import LARGEST_BYTES, LARGEST_RECORDS, batch, configuration, largest_batch, notification
from load.posting import rendered


def written(template: bytes) -> bytes:
    """Put numbers into the places for them."""
    return template.replace(b"{n}", b"000000000042").replace(b"{n:2}", b"42").replace(b"{n:4}", b"0042")


@pytest.mark.parametrize("broker_url", [None, "nats://127.0.0.1:4222"])
def test_the_notification_is_one_of_seven_keys_with_300_bytes(broker_url: str | None) -> None:
    """It goes through the event type of the benchmark's own configuration, on either log."""
    text = json.dumps(configuration(broker_url=broker_url, level="warn")).encode()
    settings = load({"AVISOSERVER_CONFIG_FILE": "any.yaml"}, read_file=lambda _: text)
    event_type = configured_catalog(settings).get("runs")
    assert event_type is not None
    body = decode_body(written(notification()))
    assert event_type.announce(body.identifier).subject == "runs.od.dest42.oper.0001.20250706.1200.10042"
    assert len(body.compact_payload()) == 300


def test_the_records_of_a_batch_have_ids() -> None:
    """Each place for a number becomes another, so no two ids are equal."""
    records = [json.loads(line) for line in written(batch(source="any", records=3)).splitlines()]
    assert [record["id"] for record in records] == ["any-000000000042"] * 3


def test_the_largest_batch_is_as_large_as_one_may_be() -> None:
    """Ten thousand records, and no room in 8 MiB for another byte in each."""
    template = largest_batch()
    assert template.count(b"\n") == LARGEST_RECORDS
    assert len(written(template)) == rendered(template)
    assert LARGEST_BYTES - LARGEST_RECORDS < rendered(template) <= LARGEST_BYTES
