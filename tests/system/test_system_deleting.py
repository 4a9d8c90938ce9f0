"""An event type whose stream is to go with it is guarded, and goes when somebody means it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.deployment import until
from support.installed import RELEASE_NAMESPACE

if TYPE_CHECKING:
    from support.installed import Installed


def test_the_guard_refuses_and_then_obeys(event_types: Installed) -> None:
    stream = event_types.event_schema("field-ready")["status"]["stream"]["name"]
    event_types.kubectl(
        "patch", "eventschema/field-ready", "--type=merge", '--patch={"spec":{"deletionPolicy":"Delete"}}'
    )

    def counted() -> bool:
        return bool(event_types.event_schema("field-ready")["status"]["stream"]["messages"])

    until(counted, seconds=120, what="the status tells that messages are stored")
    refused = event_types.cluster.try_kubectl(
        f"--namespace={RELEASE_NAMESPACE}", "delete", "eventschema/field-ready", "--wait=false"
    )
    assert refused.code != 0
    assert "stored messages" in refused.messages
    assert "aviso.dev/confirm-delete" in refused.messages
    event_types.kubectl("annotate", "eventschema/field-ready", "aviso.dev/confirm-delete=field-ready")
    event_types.kubectl("delete", "eventschema/field-ready", "--timeout=90s")
    assert stream not in event_types.broker_streams()
