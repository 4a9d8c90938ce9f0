"""The configuration can be shown: complete, and without any secret."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from aviso_core.plain.secret import REDACTED
from aviso_core.settings.dump import dump
from aviso_core.settings.loader import load
from aviso_core.settings.model import Application, NotificationBackend, Settings

SECRET = "correct-horse"
FILE = f"""
application: {{host: h, port: 1, base_url: "https://ann:{SECRET}@host"}}
auth:
  jwt_secret: {SECRET}
  admin_roles: {{main: [operator]}}
  auth_o_tron_url: "http://u:{SECRET}@auth"
  issuers:
    - {{issuer: "https://id.example", audience: aviso, jwks_url: "https://u:{SECRET}@id.example/keys", realm: staff}}
  kubernetes: {{jwks_url: "https://u:{SECRET}@cluster/keys", review: {{url: "https://u:{SECRET}@cluster"}}}}
ecpds: {{username: service, password: {SECRET}, servers: ["https://ann:{SECRET}@one"]}}
logging: {{otlp: {{endpoint: "http://u:{SECRET}@collector"}}}}
tracing: {{endpoint: "http://u:{SECRET}@collector"}}
notification_backend:
  kind: jetstream
  jetstream: {{nats_url: "nats://{SECRET}@broker", user: service, password: {SECRET}}}
notification_schema:
  mars:
    endpoint: "https://ann:{SECRET}@host"
    identifier: {{token: {SECRET}, step: {{type: IntHandler, range: [0, 5]}}}}
    Api_Key_Of_It: [{SECRET}]
    list: [{{password: {SECRET}}}]
"""


def _dumped() -> dict[str, object]:
    return dump(load({"NATS_TOKEN": SECRET}, read_file=lambda _: FILE.encode()))


def test_no_secret_is_in_it() -> None:
    text = json.dumps(_dumped())
    assert SECRET not in text
    assert text.count(REDACTED) == 17


def test_all_else_is_in_it() -> None:
    dumped = _dumped()
    assert dumped.keys() == set(Settings.__struct_fields__)
    assert dumped["auth"] == {
        "enabled": False,
        "mode": "direct",
        "auth_o_tron_url": f"http://{REDACTED}@auth",
        "jwt_secret": REDACTED,
        "admin_roles": {"main": ["operator"]},
        "timeout_ms": 5000,
        "direct_cache_seconds": 0,
        "jwks_refresh_seconds": 300,
        "issuers": [
            {
                "issuer": "https://id.example",
                "audience": "aviso",
                "jwks_url": f"https://{REDACTED}@id.example/keys",
                "jwks_file": "",
                "ca_file": "",
                "realm": "staff",
                "realm_claim": "",
                "roles_claim": "roles",
                "username_claim": "sub",
            }
        ],
        "kubernetes": {
            "enabled": False,
            "issuer": "",
            "audience": "aviso",
            "jwks_url": f"https://{REDACTED}@cluster/keys",
            "jwks_file": "",
            "ca_file": "",
            "realm": "kubernetes",
            "review": {
                "bearer_file": "",
                "url": f"https://{REDACTED}@cluster",
                "ca_file": "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
                "cache_seconds": 60,
            },
        },
    }
    assert dumped["tracing"] == {
        "enabled": False,
        "endpoint": f"http://{REDACTED}@collector",
        "protocol": "grpc",
        "sample_ratio": 1.0,
    }
    assert dumped["registry"] == {"kind": "memory", "folder": None}
    assert dumped["ingest"] == {
        "batch_max_records": 10_000,
        "batch_max_bytes": 8_388_608,
        "max_bytes_in_flight": 67_108_864,
        "max_waiting_seconds": 30,
    }
    assert dumped["notification_schema"] == {
        "mars": {
            "endpoint": f"https://{REDACTED}@host",
            "identifier": {"token": REDACTED, "step": {"type": "IntHandler", "range": [0, 5]}},
            "Api_Key_Of_It": REDACTED,
            "list": [{"password": REDACTED}],
        }
    }


def test_a_token_that_is_not_set_is_seen_not_to_be() -> None:
    settings = Settings(
        application=Application(host="h", port=1), notification_backend=NotificationBackend(kind="in_memory")
    )
    backend = dump(settings)["notification_backend"]
    assert isinstance(backend, dict)
    assert backend["jetstream"]["token"] is None


@given(
    st.dictionaries(
        st.text(),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
            max_leaves=8,
        ),
    )
)
def test_any_schema_can_be_shown(schema: dict[str, object]) -> None:
    settings = Settings(
        application=Application(host="h", port=1),
        notification_backend=NotificationBackend(kind="in_memory"),
        notification_schema=schema,
    )
    json.dumps(dump(settings))
