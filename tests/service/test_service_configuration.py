"""A configuration file as installations of the reference have it, with its environment, starts `avisod` unchanged.

The file has every key that the reference knows (contract section 11), those included that it reads and does not use.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

import httpx
import pytest

from support.nats import running_server
from support.services import HOST, running_program
from support.tokens import by_hand

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FILE: Final = """\
application:
  host: "127.0.0.1"
  port: "0"                      # a number as text, as templates write it
  base_url: "https://aviso.example:8443/events"
  static_files_path: "{pages}"
  workers: 4                     # unknown keys are ignored here
  homepage:
    client_documentation_url: "https://docs.example/client?a=1&b=2"
    client_repository_url: "https://git.example/client"
    server_documentation_url: "https://docs.example/server"
    server_repository_url: "https://git.example/server"
logging:
  level: "debug"
  format: "bunyan"
  otlp:
    enabled: false
    endpoint: "http://127.0.0.1:4317"
    protocol: "grpc"
auth:
  enabled: true
  mode: "trusted_proxy"
  auth_o_tron_url: "http://127.0.0.1:8081"
  jwt_secret: "the secret of the file, long enough"
  admin_roles:
    main: ["operator", "deputy"]
    other: ["*"]
  timeout_ms: 1500
metrics:
  enabled: true
  host: "127.0.0.1"
  port: 9090
notification_backend:
  kind: "jetstream"
  in_memory:
    max_history_per_topic: 5
    max_topics: 50
    enable_metrics: true
  jetstream:
    nats_url: "nats://nowhere.example:4222"
    timeout_seconds: 5
    retry_attempts: 2
    enable_auto_reconnect: true
    max_reconnect_attempts: 0
    reconnect_delay_ms: 50
    publish_retry_attempts: 2
    publish_retry_base_delay_ms: 10
    max_messages: 1000
    max_bytes: 10485760
    retention_time: "7d"
    replicas: 1
    storage_type: "file"
    retention_policy: "limits"
    discard_policy: "old"
watch_endpoint:
  sse_heartbeat_interval_sec: 30
  connection_max_duration_sec: 3600
  replay_batch_size: 100
  max_historical_notifications: 10000
  replay_batch_delay_ms: 0
  concurrent_notification_processing: 15
ecpds:
  username: "aviso"
  password: "the password of the file"
  servers: ["https://one.example", "https://two.example/base"]
  match_key: "destination"
  target_field: "name"
  cache_ttl_seconds: 60
  max_entries: 100
  request_timeout_seconds: 10
  connect_timeout_seconds: 2
  partial_outage_policy: "any_success"
notification_schema_strict: true
notification_schema:
  mars:
    endpoint: "unused"
    max_historical_notifications: 500
    topic:
      base: "mars"
      key_order: ["class", "expver", "date", "time", "stream", "step", "level"]
    identifier:
      class: {{type: StringHandler, max_length: 2, required: true, description: "Class of the data."}}
      expver: {{type: ExpverHandler, default: "0001", required: false}}
      date: {{type: DateHandler, canonical_format: "%Y%m%d", required: false}}
      time: {{type: TimeHandler, required: false}}
      stream: {{type: EnumHandler, values: [oper, enfo], required: false}}
      step: {{type: IntHandler, range: [0, 100000], required: false}}
      level: {{type: FloatHandler, range: [0.0, 1000.5], required: false}}
    payload:
      required: true
    storage_policy:
      retention_time: "1D"
      max_messages: 100
      max_size: "1Mi"
      allow_duplicates: true
      compression: true
    auth:
      required: true
      read_roles: {{main: ["reader"]}}
      write_roles: {{main: ["writer"], other: ["*"]}}
  dissemination:
    topic:
      base: "diss"
      key_order: ["destination"]
    identifier:
      destination: {{type: StringHandler, required: true}}
      polygon: {{type: PolygonHandler, required: false}}
    auth:
      required: true
      plugins: ["ecpds"]
  observation:
    topic:
      base: "observation"
      key_order: ["station"]
    identifier:
      station: {{type: StringHandler, required: true}}
      point_cloud: {{type: PointCloudHandler, max_points: 100, required: true}}
"""
MARS: Final = {
    "class": "od",
    "expver": 1,
    "date": "2026-03-04",
    "time": "12",
    "stream": "OPER",
    "step": 6,
    "level": 500,
}


def written(folder: Path) -> Path:
    """Write the file, and a home page as it comes with the reference."""
    pages = folder / "static"
    pages.mkdir()
    (pages / "index.html").write_text(
        "<a href='{{CLIENT_DOCUMENTATION_URL}}'>{{SERVER_VERSION}} {{NOTHING}}</a>"
    )
    (pages / "logo.png").write_bytes(b"PNG")
    file = folder / "config.yaml"
    file.write_text(FILE.format(pages=pages))
    return file


def free_port() -> int:
    """Return a port that is free now."""
    with closing(socket.socket()) as one:
        one.bind((HOST, 0))
        port: int = one.getsockname()[1]
        return port


def effective(output: Path) -> Any:
    """Return the configuration that a process has told its log."""
    records = map(json.loads, output.read_text().splitlines())
    dumped = next(
        record["attributes"]
        for record in records
        if record["attributes"].get("event.name") == "startup.configuration.dumped"
    )
    return dumped["configuration"]


def token(secret: str, *roles: str, realm: str = "main") -> dict[str, str]:
    """Return the header of a user."""
    claims = {"sub": "ann", "realm": realm, "roles": roles, "exp": 2**40}
    return {"Authorization": f"Bearer {by_hand(claims, secret=secret)}"}


def test_a_file_of_the_reference_starts_the_service_with_its_environment(tmp_path: Path) -> None:
    """What the file says holds, but for what variables say; both are told in the log, without the secrets."""
    file = written(tmp_path)
    metrics_port = free_port()
    secret = "the secret of the environment, long enough"
    with running_server(tmp_path / "broker") as broker:
        environ = {
            "AVISOSERVER_CONFIG_FILE": f"  {file} ",
            "AVISOSERVER_NOTIFICATION_BACKEND__JETSTREAM__NATS_URL": broker.url,
            "AVISOSERVER_METRICS__PORT": str(metrics_port),
            "AVISOSERVER_AUTH__JWT_SECRET": secret,
            "avisoserver_watch_endpoint__replay_batch_size": "200",
            "AVISOSERVER_LOGGING__OTLP__ENABLED": "off",
            "RUST_LOG": "info",
        }
        with (
            running_program(tmp_path, "aviso_all_in_one", "serve", environ=environ) as program,
            httpx.Client(base_url=program.url) as client,
        ):
            assert client.get("/ready").json() == {"status": "ready", "backend_connected": True}
            page = client.get("/").text
            assert page.startswith("<a href='https://docs.example/client?a=1&amp;b=2'>")
            assert page.endswith(" {{NOTHING}}</a>")
            assert client.get("/static/logo.png").content == b"PNG"
            assert client.get("/api/v1/schema").json()["event_types"] == [
                "dissemination",
                "mars",
                "observation",
            ]
            assert "aviso_build_info" in httpx.get(f"http://{HOST}:{metrics_port}/metrics").text

            body = {"event_type": "mars", "identifier": MARS, "payload": {"location": "x"}}
            path = "/api/v1/notification"
            assert client.post(path, json=body).status_code == 401
            assert client.post(path, json=body, headers=token(secret, "reader")).status_code == 403
            of_the_file = token("the secret of the file, long enough", "writer")
            assert client.post(path, json=body, headers=of_the_file).status_code == 401
            for headers in (token(secret, "writer"), token(secret, "x", realm="other")):
                answered = client.post(path, json=body, headers=headers)
                assert answered.status_code == 200, answered.text
            deleted = client.delete("/api/v1/admin/notification/mars@1", headers=token(secret, "deputy"))
            assert deleted.json()["notification_id"] == "mars@1"
    told = effective(program.output)
    assert told["watch_endpoint"]["replay_batch_size"] == 200
    assert told["watch_endpoint"]["replay_batch_delay_ms"] == 0
    assert told["logging"]["level"] == "info"
    assert told["notification_backend"]["jetstream"]["nats_url"] == broker.url
    assert told["notification_backend"]["jetstream"]["retention_time"] == "7d"
    assert told["ecpds"]["partial_outage_policy"] == "any_success"
    assert told["application"]["base_url"] == "https://aviso.example:8443/events"
    said = program.output.read_text()
    assert secret not in said
    assert "the password of the file" not in said
    assert "[REDACTED]" in said


def test_the_usual_places_are_read_one_over_the_other(tmp_path: Path) -> None:
    """The folder's own file first, the home's over it, the environment over both."""
    here, home = tmp_path / "configuration", tmp_path / ".aviso_server"
    here.mkdir()
    home.mkdir()
    (here / "config.yaml").write_text(
        "application: {host: 127.0.0.1, port: 0, base_url: 'http://here.example'}\n"
        "notification_backend: {kind: jetstream, in_memory: {max_topics: 7, max_history_per_topic: 2}}\n"
        "notification_schema:\n"
    )
    (home / "config.yaml").write_text(
        "application: {base_url: 'http://home.example'}\n"
        "notification_backend: {kind: in_memory, in_memory: {max_topics: 8}}\n"
    )
    environ = {
        "HOME": str(tmp_path),
        "AVISOSERVER_NOTIFICATION_BACKEND__IN_MEMORY__MAX_HISTORY_PER_TOPIC": "3",
        "AVISOSERVER_WATCH_ENDPOINT__MAX_HISTORICAL_NOTIFICATIONS": "9",
    }
    with running_program(tmp_path, "aviso_all_in_one", "serve", environ=environ) as program:
        listed = httpx.get(f"{program.url}/api/v1/schema").json()
    assert listed["message"] == "No notification schema configured"
    told = effective(program.output)
    assert told["application"]["base_url"] == "http://home.example"
    in_memory = told["notification_backend"]["in_memory"]
    assert (in_memory["max_topics"], in_memory["max_history_per_topic"]) == (8, 3)
    assert told["watch_endpoint"]["max_historical_notifications"] == 9


REFUSED: Final[dict[str, tuple[dict[str, str], str]]] = {
    "an unknown backend": (
        {"AVISOSERVER_NOTIFICATION_BACKEND__KIND": "postgres"},
        "Unknown notification_backend kind: postgres",
    ),
    "an event type that the backend cannot keep": (
        {"AVISOSERVER_NOTIFICATION_BACKEND__KIND": "in_memory"},
        "storage_policy",
    ),
    "metrics on the service's own port": (
        {"AVISOSERVER_APPLICATION__PORT": "9090"},
        "metrics.port",
    ),
    "an empty secret": ({"AVISOSERVER_AUTH__JWT_SECRET": ""}, "jwt_secret"),
    "a number that is none": ({"AVISOSERVER_WATCH_ENDPOINT__REPLAY_BATCH_SIZE": "many"}, "replay_batch_size"),
    "no file": ({"AVISOSERVER_CONFIG_FILE": "/nowhere.yaml"}, "/nowhere.yaml"),
    "an empty name of a file": ({"AVISOSERVER_CONFIG_FILE": ""}, "AVISOSERVER_CONFIG_FILE"),
}


def ended(folder: Path, *command: str, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a program that has to end by itself."""
    return subprocess.run(
        [sys.executable, "-m", *command],
        capture_output=True,
        text=True,
        timeout=20,
        cwd=folder,
        env={"HOME": str(folder), **environ},
    )


@pytest.mark.parametrize(("environ", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_with_settings_is_told_before_anything_is_answered(
    tmp_path: Path, environ: dict[str, str], message: str
) -> None:
    """With the name of the setting and another exit code; no broker is needed for that, and no secret is told."""
    file = written(tmp_path)
    done = ended(
        tmp_path, "aviso_all_in_one", "serve", environ={"AVISOSERVER_CONFIG_FILE": str(file), **environ}
    )
    assert done.returncode == 1, done
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert "the secret of the file" not in done.stderr + done.stdout
    assert "startup.server.listening" not in done.stdout
