"""What the benchmarks of streams share: the services that they measure, and what is watched and announced there."""

from __future__ import annotations

import json
import resource
import sys
import sysconfig
import tempfile
import time
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import bench_ingest
from load.posting import CannotGenerateLoad
from serving import Service, serving
from support.alone import see_only, show_alone

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

EVENT_TYPE: Final = bench_ingest.EVENT_TYPE
JSON: Final[Mapping[str, str]] = {"Content-Type": "application/json"}
WATCH: Final = "/api/v1/watch"
REPLAY: Final = "/api/v1/replay"
NOTIFICATION: Final = "/api/v1/notification"

# Of so many destinations one is announced at a time.
DESTINATIONS: Final = 1000
_STEP: Final = "42"
_FILLER: Final = "~"
_SPARE_DESCRIPTORS: Final = 200


def settings(*, broker_url: str | None = None, **blocks: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a service whose event type can be watched as a whole; each block adds to them."""
    made = bench_ingest.configuration(broker_url=broker_url, level="warn")
    schema = made["notification_schema"][EVENT_TYPE]
    schema["identifier"] = {
        name: field | {"required": name == "class"} for name, field in schema["identifier"].items()
    }
    # Room for a number of its own for each of many streams.
    schema["identifier"]["step"]["range"] = [0, 1_000_000]
    return made | blocks


def _settings_file(folder: Path, made: Mapping[str, Any]) -> Path:
    """Write settings; JSON is YAML."""
    text = json.dumps(made)
    file = folder / f"settings-{abs(hash(text)):x}.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def avisod(folder: Path, made: Mapping[str, Any]) -> AbstractContextManager[Service]:
    """Run all services in one process while a block does."""
    program = Path(sysconfig.get_path("scripts")) / "avisod"
    file = _settings_file(folder, made)
    return serving([str(program), "serve", "--config", str(file), "--port", "{port}"], folder=folder)


@contextmanager
def gateway(folder: Path, made: Mapping[str, Any]) -> Iterator[Service]:
    """Run the stream gateway alone while a block does, with what it needs and nothing of this environment besides."""
    environment = {
        "AVISOSERVER_CONFIG_FILE": str(_settings_file(folder, made)),
        "AVISOSERVER_APPLICATION__PORT": "{port}",
    }
    with tempfile.TemporaryDirectory(dir=folder) as name:
        site = Path(name)
        show_alone("aviso-stream-gateway", site=site)
        program = (
            see_only(site) + "import runpy; runpy.run_module('aviso_stream_gateway', run_name='__main__')"
        )
        command = [sys.executable, "-I", "-S", "-c", program]
        with serving(command, folder=folder, environment=environment) as service:
            yield service


def bare_send(folder: Path, *, body_bytes: int) -> AbstractContextManager[Service]:
    """Run the floor while a block does: as many bytes to each stream, and nothing else."""
    program = Path(__file__).parent / "load" / "bare_send.py"
    return serving([sys.executable, str(program), "{port}", str(body_bytes)], folder=folder)


def allow_descriptors(streams: int) -> None:
    """Have the services that are started here open as many connections as they are asked for."""
    needed = streams + _SPARE_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise CannotGenerateLoad(
            f"{streams} streams need {needed} open files, and {hard} are allowed (ulimit -Hn)."
        )
    if soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def get(port: int, path: str) -> bytes:
    """Return what a service on this machine answers."""
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", path)
        return connection.getresponse().read()
    finally:
        connection.close()


def wait_open(metrics_port: int, streams: int, *, limit_seconds: float = 30.0) -> None:
    """Wait until so many streams are open, as the service counts them."""
    name = f'aviso_sse_connections_active{{event_type="runs",route="{WATCH}"}}'
    deadline = time.perf_counter() + limit_seconds
    while True:
        lines = get(metrics_port, "/metrics").decode().splitlines()
        found = [float(line.rpartition(" ")[2]) for line in lines if line.startswith(name)]
        if found == [streams]:
            return
        if time.perf_counter() > deadline:
            raise RuntimeError(f"{streams} streams should be open, the service says {found}")
        # A service has no other way to tell.
        time.sleep(0.05)


def announcement(*, payload_bytes: int) -> bytes:
    """Return a notification as a template: its number says to which destination it goes, and marks it."""
    payload = {"location": "s3://archive/mark{n}", "size": 4711, "note": _FILLER}
    identifier = {
        "class": "od",
        "destination": "dest{n:3}",
        "stream": "oper",
        "expver": "1",
        "date": "20250706",
        "time": "1200",
        "step": _STEP,
    }
    # Twelve digits stand in the place of three letters.
    there = len(_compact(payload)) + 9 - len(_FILLER)
    record = {"event_type": EVENT_TYPE, "identifier": identifier, "payload": payload}
    return _compact(record).replace(_FILLER.encode(), b"x" * (payload_bytes - there))


def everything(*, from_sequence: int | None = None) -> bytes:
    """Return the body of a watch for all that is announced, or of a replay of it."""
    body: dict[str, Any] = {"event_type": EVENT_TYPE, "identifier": {"class": "od"}}
    return _compact(body if from_sequence is None else body | {"from_id": str(from_sequence)})


def own_filter() -> bytes:
    """Return the body of a watch for one destination, as a template: no two streams have the same filter."""
    identifier = {"class": "od", "destination": "dest{n:3}", "step": {"lt": "~1{n:5}~"}}
    body = {"event_type": EVENT_TYPE, "identifier": identifier}
    return _compact(body).replace(b'"~', b"").replace(b'~"', b"")


def _compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
