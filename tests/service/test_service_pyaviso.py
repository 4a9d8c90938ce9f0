"""The released client, unchanged: its Python interface and its command, against `avisod` as a process."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sysconfig
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyaviso
import pytest

from support.event_logs import asynchronous
from support.http_server import answering, running_http_server
from support.nats import running_server
from support.recordings import OPEN, on_jetstream
from support.services import running_avisod
from support.tokens import SECRET, by_hand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BUOY: Final[dict[str, Any]] = {"net": "north", "point_cloud": [[50.5, 1.25], [51, 2]]}
STORM: Final[dict[str, Any]] = {
    "basin": "Atlantic",
    "season": "2025",
    "category": 3,
    "wind": 55.5,
    "polygon": "(10,20,10,30,20,30,10,20)",
}
COMMAND: Final = Path(sysconfig.get_path("scripts")) / "aviso"


def _guarded(**auth: object) -> dict[str, object]:
    return {
        "topic": {"base": "desk", "key_order": ["k"]},
        "identifier": {"k": {"type": "StringHandler", "required": True}},
        "auth": {"required": True, **auth},
    }


GUARDED: Final[dict[str, Any]] = {
    "auth": {
        "enabled": True,
        "mode": "trusted_proxy",
        "jwt_secret": SECRET,
        "admin_roles": {"main": ["operator"]},
    },
    "notification_schema": {"desk": _guarded(write_roles={"main": ["writer"]})},
}


def token(*roles: str, lasts: int = 3600) -> str:
    """Return a token of the realm `main`."""
    claims = {"sub": "ann", "realm": "main", "roles": roles, "exp": int(time.time()) + lasts}
    return by_hand(claims)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the client a home without files, and no variables of its own."""
    for name in os.environ:
        if name.startswith("AVISO_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return tmp_path


@pytest.fixture(scope="module")
def open_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run `avisod` with the event types of the recordings, open to everybody; return where."""
    with running_avisod(tmp_path_factory.mktemp("open"), OPEN) as program:
        yield program.url


@pytest.fixture(scope="module")
def guarded_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run `avisod` with one event type that writers may write; return where."""
    with running_avisod(tmp_path_factory.mktemp("guarded"), GUARDED) as program:
        yield program.url


def refused(call: Callable[[], object]) -> pyaviso.HttpError:
    """Return the error that the client raises, which has the id of the answer's body."""
    with pytest.raises(pyaviso.HttpError) as caught:
        call()
    error = caught.value
    assert error.request_id == json.loads(error.body)["request_id"]
    return error


# --- the Python interface --------------------------------------------------------------------------------


def everything(client: pyaviso.AvisoClient) -> None:
    """Publish, look at the schemas, and administer, with what is refused on the way."""
    answered = client.notify(event_type="buoys", identifier=BUOY, payload={"n": [1, None]})
    assert answered.status == "success"
    assert client.notify(event_type="storms", identifier=STORM).processed_at.endswith("Z")

    many = [{"event_type": "buoys", "identifier": {**BUOY, "net": f"n{n}"}} for n in range(50)]
    results = client.notify_many([*many, {"event_type": "runs", "identifier": {}}], concurrency=8)
    assert [one.ok for one in results] == [True] * 50 + [False]
    assert isinstance(results[-1].error, pyaviso.HttpError)

    catalog = client.schema()
    assert (catalog.event_types, catalog.total_schemas) == (["buoys", "runs", "storms"], 3)
    assert catalog.schema["buoys"] == client.schema_for("buoys").schema
    unknown = refused(lambda: client.schema_for("nothing"))
    assert (unknown.status, json.loads(unknown.body)["available_types"]) == (404, catalog.event_types)

    unknown = refused(lambda: client.notify(event_type="nothing", identifier={}))
    assert (unknown.status, json.loads(unknown.body)["code"]) == (400, "UNKNOWN_EVENT_TYPE")
    missing = refused(lambda: client.notify(event_type="storms", identifier={}))
    assert json.loads(missing.body)["message"] == "Required field 'basin' missing for notify operation"

    client.delete_notification("buoys@1")
    assert refused(lambda: client.delete_notification("buoys@1")).status == 404
    assert refused(lambda: client.delete_notification("buoys")).status == 400
    client.wipe_stream("storms")
    assert refused(lambda: client.delete_notification("storms@1")).status == 404
    assert refused(lambda: client.wipe_stream("nothing")).status == 404
    client.wipe_all()
    assert refused(lambda: client.delete_notification("buoys@2")).status == 404


def test_the_client_publishes_and_administers(open_url: str) -> None:
    """Over the log in memory."""
    with pyaviso.AvisoClient(base_url=open_url) as client:
        everything(client)


def test_the_client_publishes_and_administers_over_a_broker(tmp_path: Path) -> None:
    """Over JetStream."""
    with (
        running_server(tmp_path) as server,
        running_avisod(tmp_path, on_jetstream(OPEN, server.url)) as program,
        pyaviso.AvisoClient(base_url=program.url) as client,
    ):
        everything(client)


def test_the_client_proves_itself_by_a_token(guarded_url: str) -> None:
    """Each of its ways to have one; with a bad one nothing is written, and nobody else's stream is."""
    body: dict[str, Any] = {"event_type": "desk", "identifier": {"k": "1"}}

    def client(auth: pyaviso.AuthProvider | pyaviso.Anonymous) -> pyaviso.AvisoClient:
        return pyaviso.AvisoClient(base_url=guarded_url, auth=auth)

    writer = client(pyaviso.Bearer(token("writer")))
    assert writer.notify(**body).status == "success"
    assert client(pyaviso.Chain(pyaviso.Bearer(token("writer")))).notify(**body).status == "success"
    for auth, status in (
        (pyaviso.Anonymous(), 401),
        (pyaviso.Bearer("garbage"), 401),
        (pyaviso.Bearer(token("writer", lasts=-3600)), 401),
        (pyaviso.Basic("ann", "pw"), 401),
        (pyaviso.Bearer(token("reader")), 403),
    ):
        one = client(auth)
        assert refused(lambda one=one: one.notify(**body)).status == status  # type: ignore[misc] # bound in the loop
        assert one.schema().event_types == ["desk"]
    assert refused(writer.wipe_all).status == 403
    client(pyaviso.Bearer(token("operator"))).wipe_all()


def test_the_client_finds_its_token(guarded_url: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In its environment, its configuration file or a file of credentials."""
    body: dict[str, Any] = {"event_type": "desk", "identifier": {"k": "1"}}
    credentials, configuration = home / "credentials.yaml", home / "config.yaml"
    credentials.write_text(json.dumps({"bearer": {"token": token("writer")}}))
    credentials.chmod(0o600)
    found = pyaviso.AvisoClient(base_url=guarded_url, auth=pyaviso.ConfigFile(credentials))
    assert found.notify(**body).status == "success"

    written = {"base_url": guarded_url, "auth": {"bearer_token": token("writer")}}
    configuration.write_text(json.dumps(written))
    configuration.chmod(0o600)
    assert pyaviso.AvisoClient.from_file(configuration).notify(**body).status == "success"

    monkeypatch.setenv("AVISO_TOKEN", token("writer"))
    monkeypatch.setenv("AVISO_BASE_URL", guarded_url)
    assert pyaviso.AvisoClient(auth=pyaviso.Env()).notify(**body).status == "success"
    assert pyaviso.AvisoClient().notify(**body).status == "success"


@asynchronous
async def test_the_client_proves_itself_by_a_password(tmp_path: Path) -> None:
    """Where an auth service knows it; when that is away the client says so, with the answer's status."""
    body: dict[str, Any] = {"event_type": "desk", "identifier": {"k": "1"}}
    async with running_http_server(answering(authorization=f"Bearer {token('writer')}")) as auth_service:
        direct = {**GUARDED["auth"], "mode": "direct", "auth_o_tron_url": auth_service.url}
        with running_avisod(tmp_path, {**GUARDED, "auth": direct}) as program:
            basic = pyaviso.AsyncAvisoClient(base_url=program.url, auth=pyaviso.Basic("ann", "pässword"))
            assert (await basic.notify(**body)).status == "success"
            assert auth_service.asked[0].headers["authorization"].startswith("Basic ")
            auth_service.behaviour = answering(401)
            with pytest.raises(pyaviso.HttpError) as caught:
                await basic.notify(**body)
            assert caught.value.status == 401
            auth_service.behaviour = answering(500)
            with pytest.raises(pyaviso.HttpError) as caught:
                await basic.notify(**body)
            assert caught.value.status == 503


@asynchronous
async def test_many_clients_publish_at_once(open_url: str) -> None:
    """The asynchronous interface: each call is answered for itself."""
    client = pyaviso.AsyncAvisoClient(base_url=open_url)

    async def publish(number: int) -> str:
        identifier = {**BUOY, "net": f"n{number}"}
        return (await client.notify(event_type="buoys", identifier=identifier)).request_id

    assert len(set(await asyncio.gather(*map(publish, range(100))))) == 100


# --- the command -----------------------------------------------------------------------------------------


class Said(NamedTuple):
    """What the command said."""

    code: int
    output: str
    errors: str

    @property
    def json(self) -> Any:
        """Its output, decoded."""
        return json.loads(self.output)


def aviso(*arguments: str) -> Said:
    """Run the command."""
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, timeout=30)
    return Said(done.returncode, done.stdout, done.stderr)


def test_the_command_publishes(open_url: str) -> None:
    """Values as texts, as JSON, and a payload; a refusal is told with what to do about it."""
    where = ("--base-url", open_url)
    said = aviso(
        *where,
        "notify",
        "event=storms,basin=atlantic,season=2025,category:=3,wind=55.5,"
        'polygon:=[[0.0,0.0],[0.0,1.0],[1.0,1.0],[0.0,0.0]],data={"note":"strong, and growing"}',
    )
    assert (said.code, said.json["status"], said.json["event_type"]) == (0, "success", "storms"), said
    said = aviso(
        *where, "notify", "event=buoys,net=north", "--identifier", "point_cloud:=[[50.5,1.25]]", "--json"
    )
    assert (said.code, said.json["status"]) == (0, "success"), said

    said = aviso(*where, "notify", "event=storms,basin=atlantic")
    assert said.code == 1
    assert "Required field 'season' missing for notify operation" in said.errors
    assert "every identifier listed in the schema is required" in said.errors
    said = aviso(*where, "notify", "event=nothing,a=b")
    assert said.code == 1
    assert "the event_type is not configured on the server" in said.errors


def test_the_command_shows_schemas(open_url: str) -> None:
    """All names, one of them whole, and which there are instead of an unknown one."""
    where = ("--base-url", open_url)
    listed = aviso(*where, "schema", "list")
    assert [json.loads(line)["event_type"] for line in listed.output.splitlines()] == [
        "buoys",
        "runs",
        "storms",
    ]
    one = aviso(*where, "schema", "get", "storms").json
    assert (one["status"], one["event_type"]) == ("success", "storms")
    assert one["schema"]["identifier"]["basin"]["values"] == ["atlantic", "pacific", "indian"]
    unknown = aviso(*where, "schema", "get", "nothing")
    assert unknown.code == 1
    assert "Available event_types: buoys, runs, storms" in unknown.errors


def test_the_command_administers_with_a_token_in_its_configuration(guarded_url: str, home: Path) -> None:
    """It deletes and wipes; without a role or a token it says what is missing."""
    file = home / "config.yaml"

    def as_(*roles: str) -> tuple[str, str]:
        file.write_text(json.dumps({"base_url": guarded_url, "auth": {"bearer_token": token(*roles)}}))
        file.chmod(0o600)
        return ("--config", str(file))

    # Sequences go on, whatever is deleted: the first of this test is found by the administrator of the log.
    operator = as_("operator")
    assert aviso(*operator, "admin", "wipe-all", "--yes").json["status"] == "ok"
    assert aviso(*operator, "notify", "event=desk,k=1").code == 0
    assert aviso(*operator, "admin", "delete", "desk@x", "--yes").code == 1
    gone = aviso(*operator, "admin", "delete", "desk@99999", "--yes")
    assert gone.code == 1
    assert "Notification not found" in gone.errors
    assert aviso(*operator, "admin", "wipe-stream", "desk", "--yes").json["status"] == "ok"
    dumped = aviso(*operator, "config", "dump")
    assert guarded_url in dumped.output

    said = aviso(*as_("writer"), "admin", "wipe-all", "--yes")
    assert said.code == 1
    assert "credentials valid but lack admin role" in said.errors
    said = aviso("--base-url", guarded_url, "admin", "wipe-all", "--yes")
    assert said.code == 1
    assert "admin endpoints require valid credentials with admin role" in said.errors
    said = aviso("--base-url", guarded_url, "--token", "garbage", "notify", "event=desk,k=1")
    assert said.code == 1
    assert "credentials are missing, invalid, or expired" in said.errors
