"""The AsyncAPI document holds together, and shows every event type."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aviso_core.schema.catalog import build_catalog
from aviso_core.schema.model import PayloadRules
from aviso_schema.describe.asyncapi import asyncapi, document_key
from support.catalogs import BUOYS, OPEN, RUNS, STORMS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Golden


def _document(base_url: str = "https://aviso.example.org:8443/notify/") -> dict[str, Any]:
    checked = {
        "type": "object",
        "properties": {"at": {"$ref": "#/$defs/at"}},
        "$defs": {"at": {"type": "string"}},
    }
    runs = msgspec.structs.replace(RUNS, payload=PayloadRules(required=True, json_schema=checked))
    storms = msgspec.structs.replace(STORMS, event_type="Les tempêtes", topic=STORMS.topic)
    catalog = build_catalog([runs, storms, BUOYS])
    return asyncapi(catalog.event_types.values(), title="A title", version="1.2.3", base_url=base_url)


def _references(value: Any) -> Iterator[str]:
    match value:
        case dict():
            if "$ref" in value:
                yield value["$ref"]
            for inner in value.values():
                yield from _references(inner)
        case list():
            for inner in value:
                yield from _references(inner)


def test_a_document_is_what_somebody_looked_at(golden: Golden) -> None:
    """All event types of the tests, one with a name that keys cannot spell."""
    golden("schema/asyncapi.json", json.dumps(_document(), indent=1, ensure_ascii=False) + "\n")


def test_every_reference_leads_somewhere() -> None:
    """Also those of a payload schema, which were counted from its own root."""
    document = _document()
    references = set(_references(document))
    assert any("properties/payload" in reference for reference in references)
    for reference in references:
        value: Any = document
        for step in reference.removeprefix("#/").split("/"):
            assert step in value or isinstance(value, list), reference
            value = value[int(step)] if isinstance(value, list) else value[step]


def test_each_event_type_has_its_channels() -> None:
    """Notifications go in, two kinds of streams come out."""
    document = asyncapi(OPEN.event_types.values(), title="t", version="1", base_url="http://localhost")
    assert {key: channel["address"] for key, channel in document["channels"].items() if "storms" in key} == {
        "storms.notification": "/api/v1/notification",
        "storms.watch": "/api/v1/watch",
        "storms.replay": "/api/v1/replay",
    }
    assert len(document["operations"]) == 9
    assert all(operation["action"] == "receive" for operation in document["operations"].values())


@pytest.mark.parametrize(
    ("base_url", "server"),
    [
        ("http://localhost", {"host": "localhost", "protocol": "http"}),
        ("http://localhost:8000/", {"host": "localhost:8000", "protocol": "http"}),
        ("https://x.org/a/b/", {"host": "x.org", "protocol": "https", "pathname": "/a/b"}),
    ],
)
def test_the_server_is_the_configured_one(base_url: str, server: dict[str, str]) -> None:
    """Where the service says that it is."""
    assert _document(base_url)["servers"] == {"service": server}


@given(st.lists(st.text(max_size=5), min_size=2, max_size=2, unique=True))
def test_keys_of_different_names_are_different(names: list[str]) -> None:
    """And are spelled as the specification wants them."""
    one, other = map(document_key, names)
    assert one != other
    assert set(one) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
