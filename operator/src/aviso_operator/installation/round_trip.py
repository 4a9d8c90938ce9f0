"""One event all the way round: declare its type, wait until that is live, watch, publish, receive, remove.

The event type says who may publish and read it, so the trial also shows that tokens are believed, where there are any.
It goes again whatever happens, with its stream: nothing is left but what it proved.
"""

from __future__ import annotations

import json
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import urllib3

from aviso_core.errors import AvisoError, Unavailable
from aviso_core.schema.manifest_parts import API_VERSION, KIND
from aviso_operator.installation.objects import OneObject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kubernetes.client import Configuration

_BETWEEN_LOOKS_SECONDS: Final = 0.2


class TrialFailed(AvisoError):
    """The event did not come round."""

    code = "TRIAL_FAILED"


class Who(NamedTuple):
    """Whose token is used: the realm, and the role in it that the event type is opened to."""

    realm: str
    role: str


class Trial(NamedTuple):
    """What is tried: the name of the temporary object, and how long anything is waited for."""

    namespace: str
    name: str
    who: Who | None
    seconds: float

    @property
    def event_type(self) -> str:
        """What the event type is called."""
        return self.name.replace("-", "_")

    def manifest(self) -> dict[str, Any]:
        """Return the temporary object, which says that its stream may go with it."""
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {"name": self.name, "annotations": {"aviso.dev/confirm-delete": self.name}},
            "spec": {
                "eventType": self.event_type,
                "description": "A trial of the installation; it is removed at once.",
                "topic": {"base": self.name, "keyOrder": ["run"]},
                "identifiers": [{"name": "run", "type": "String"}],
                "auth": self._auth(),
                "storage": {"retention": "1h", "maxBytes": "8Mi"},
                "deletionPolicy": "Delete",
            },
        }

    def _auth(self) -> dict[str, Any]:
        if self.who is None:
            return {"required": False}
        roles = [{"realm": self.who.realm, "roles": [self.who.role]}]
        return {"required": True, "read": roles, "write": roles}


class Service:
    """A service as a client sees it."""

    def __init__(self, http: urllib3.PoolManager, url: str, *, token_file: str | None) -> None:
        self._http = http
        self._url = url.rstrip("/")
        self._token_file = token_file

    def open(self, path: str, body: object, *, seconds: float) -> urllib3.BaseHTTPResponse:
        """Post a question and return its answer unread, or raise why it is none."""
        headers = {"Content-Type": "application/json"}
        if self._token_file is not None:
            headers["Authorization"] = f"Bearer {Path(self._token_file).read_text(encoding='utf-8').strip()}"
        try:
            answer = self._http.request(
                "POST",
                f"{self._url}{path}",
                body=json.dumps(body),
                headers=headers,
                timeout=seconds,
                preload_content=False,
            )
        except urllib3.exceptions.HTTPError as error:
            raise Unavailable(f"POST {path}: {error}") from error
        if answer.status != 200:
            raise TrialFailed(f"POST {path}: {answer.status} {answer.data.decode(errors='replace')}")
        return answer


class RoundTrip:
    """One trial on one installation."""

    def __init__(
        self,
        trial: Trial,
        cluster: Configuration,
        *,
        ingest: Service,
        gateway: Service,
        tell: Callable[[str], None],
    ) -> None:
        self._trial = trial
        self._ingest = ingest
        self._gateway = gateway
        self._object = OneObject(cluster, trial.namespace, trial.name)
        self._tell = tell

    def run(self) -> None:
        """Run it, or raise what went wrong."""
        if self._object.get() is not None:
            # Of a trial that was cut off.
            self._remove()
        self._object.create(self._trial.manifest())
        try:
            self._wait("ready", self._why_not_ready)
            self._send_and_receive()
        finally:
            self._remove()

    def _send_and_receive(self) -> None:
        run, seconds = secrets.token_hex(8), self._trial.seconds
        about = {"event_type": self._trial.event_type, "identifier": {"run": run}}
        stream = self._gateway.open("/api/v1/watch", about, seconds=seconds)
        try:
            frames = frames_of(stream)
            self._tell(f"watching: {next(frames)[0]}")
            sent = {"word": run}
            answer = self._ingest.open("/api/v1/notification", {**about, "payload": sent}, seconds=seconds)
            self._tell(f"published: {answer.data.decode()}")
            give_up = time.monotonic() + seconds
            for name, data in frames:
                if data.get("data", {}).get("payload") == sent:
                    self._tell(f"received: {name} {data['id']}")
                    return
                if time.monotonic() > give_up:
                    raise TrialFailed(f"the event did not come for {seconds:.0f} s")
        except urllib3.exceptions.HTTPError as error:
            raise TrialFailed(f"nothing came for {seconds:.0f} s: {error}") from error
        finally:
            stream.close()
        raise TrialFailed("the stream ended before the event came")

    # --- the object --------------------------------------------------------------------------------------

    def _wait(self, what: str, look: Callable[[], str | None]) -> None:
        """Wait until a look finds no reason why not."""
        give_up = time.monotonic() + self._trial.seconds
        while (reason := look()) is not None:
            if time.monotonic() > give_up:
                raise TrialFailed(f"the event type is not {what} after {self._trial.seconds:.0f} s: {reason}")
            time.sleep(_BETWEEN_LOOKS_SECONDS)
        self._tell(f"event type: {what}")

    def _remove(self) -> None:
        self._object.delete()
        self._wait("gone", self._why_not_gone)

    def _why_not_ready(self) -> str | None:
        body = self._object.get() or {}
        for condition in body.get("status", {}).get("conditions", []):
            if condition["type"] == "Ready":
                is_ready = condition["status"] == "True"
                return None if is_ready else f"{condition['reason']}: {condition['message']}"
        return "the operator has said nothing of it"

    def _why_not_gone(self) -> str | None:
        return None if self._object.get() is None else "it is still there"


def frames_of(stream: urllib3.BaseHTTPResponse) -> Iterator[tuple[str, Any]]:
    """Yield the name and the data of each frame as it comes."""
    rest = b""
    # The next piece as it comes: nothing is waited for that would fill a buffer.
    while piece := stream.read1():
        rest += piece
        *frames, rest = rest.split(b"\n\n")
        for frame in frames:
            lines = dict(line.split(": ", 1) for line in frame.decode().splitlines() if ": " in line)
            if "data" in lines:
                yield lines.get("event", ""), json.loads(lines["data"])
