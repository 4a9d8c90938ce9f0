"""A stand-in for the API server, in memory and over HTTP: the rules by which objects are kept.

Every write gives an object a new resource version, one over an older version than it has is refused, a spec that
changes begins a new generation, and the status is written apart from the rest. What an API server does beside that it
does not.
"""

from __future__ import annotations

import json
import re
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import parse_qs, urlsplit

from kubernetes.client import Configuration

from aviso_operator.cluster import open_cluster
from aviso_operator.resources import GROUP, PLURAL, VERSION, Resource, read_resource
from support.cluster_objects import document
from support.http_server import Asked, answering, running_http_server

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Callable, Mapping

    from aviso_operator.cluster import Cluster
    from support.http_server import Behaviour, HttpServer

_OBJECTS: Final = re.compile(
    rf"/apis/{GROUP}/{VERSION}(?:/namespaces/(?P<namespace>[^/]+))?/{PLURAL}"
    r"(?:/(?P<name>[^/]+))?(?P<status>/status)?$"
)
_EVENTS: Final = re.compile(r"/api/v1/namespaces/[^/]+/events$")

Answer: TypeAlias = tuple[int, object]


class StandInCluster:
    """What it keeps. `before` is told of each request before it is answered, and may answer in its place."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.documents: dict[str, bytes] = {}
        self.writes: list[str] = []
        self.before: Callable[[Asked], Behaviour | None] = lambda asked: None
        self._objects: dict[str, dict[str, Any]] = {}
        self._version = 100

    # --- what people do ----------------------------------------------------------------------------------

    def create(
        self, name: str, spec: Mapping[str, object], *, namespace: str = "weather", **metadata: Any
    ) -> Resource:
        """Create an object."""
        body = document(name, dict(spec))
        body["metadata"] |= {
            "namespace": namespace,
            "uid": f"uid-{self._version}",
            "generation": 1,
            **metadata,
        }
        return self._keep(body)

    def edit(self, key: str, **spec: object) -> Resource:
        """Change members of a spec."""
        body = deepcopy(self._objects[key])
        body["spec"] |= spec
        body["metadata"]["generation"] += 1
        return self._keep(body)

    def annotate(self, key: str, **annotations: str) -> Resource:
        """Change what is not the spec."""
        body = deepcopy(self._objects[key])
        body["metadata"].setdefault("annotations", {}).update(annotations)
        return self._keep(body)

    def delete(self, key: str) -> None:
        """Delete an object, whatever finalizers it has."""
        self._version += 1
        del self._objects[key]

    def get(self, key: str) -> Resource:
        """Return an object as it is kept."""
        return read_resource(self._objects[key])

    def _keep(self, body: dict[str, Any]) -> Resource:
        self._version += 1
        body["metadata"]["resourceVersion"] = str(self._version)
        self._objects[f"{body['metadata']['namespace']}/{body['metadata']['name']}"] = body
        return read_resource(body)

    # --- what is asked -----------------------------------------------------------------------------------

    async def answer(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        """Answer a request."""
        behaviour = self.before(asked) or answering(*self._answer(asked), content_type="application/json")
        await behaviour(asked, writer)

    def _answer(self, asked: Asked) -> Answer:
        target = urlsplit(asked.target)
        if asked.method == "POST" and _EVENTS.match(target.path):
            self.events.append(json.loads(asked.body))
            return 201, {}
        if target.path in self.documents:
            return 200, self.documents[target.path]
        found = _OBJECTS.match(target.path)
        if found is None:
            return _refusal(404, "the server could not find the requested resource")
        namespace, name = found["namespace"], found["name"]
        if name is None:
            return self._list(namespace, {key: values[0] for key, values in parse_qs(target.query).items()})
        body = self._objects.get(f"{namespace}/{name}")
        if body is None:
            return _refusal(404, f'{PLURAL}.{GROUP} "{name}" not found')
        if asked.method == "GET":
            return 200, body
        return self._patch(body, json.loads(asked.body), is_status=found["status"] is not None)

    def _list(self, namespace: str | None, query: Mapping[str, str]) -> Answer:
        bodies = [
            body for body in self._objects.values() if namespace in (None, body["metadata"]["namespace"])
        ]
        first, limit = int(query.get("continue", 0)), int(query.get("limit", len(bodies) or 1))
        more = {"continue": str(first + limit)} if first + limit < len(bodies) else {}
        metadata = {"resourceVersion": str(self._version), **more}
        return 200, {"metadata": metadata, "items": bodies[first : first + limit]}

    def _patch(self, body: dict[str, Any], patch: dict[str, Any], *, is_status: bool) -> Answer:
        metadata = body["metadata"]
        expected = patch.get("metadata", {}).pop("resourceVersion", metadata["resourceVersion"])
        if expected != metadata["resourceVersion"]:
            return _refusal(
                409, "the object has been modified; please apply your changes to the latest version"
            )
        part = {"status": patch.get("status", {})} if is_status else {"metadata": patch["metadata"]}
        self.writes.append(
            f"{'status' if is_status else 'metadata'} {metadata['namespace']}/{metadata['name']}"
        )
        changed = _merged(body, part)
        if changed == body:
            return 200, body
        self._keep(changed)
        return 200, changed


def _merged(old: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with a merge patch applied (RFC 7386)."""
    new = dict(old)
    for name, value in patch.items():
        if value is None:
            new.pop(name, None)
        elif isinstance(value, dict):
            before = new.get(name)
            new[name] = _merged(before if isinstance(before, dict) else {}, value)
        else:
            new[name] = value
    return new


def _refusal(status: int, message: str) -> Answer:
    return status, {"kind": "Status", "status": "Failure", "message": message, "code": status}


def configuration(server: HttpServer) -> Configuration:
    """Return how a server on this machine is reached as an API server."""
    found = Configuration()
    found.host = server.url
    found.retries = False
    found.api_key = {"authorization": "Bearer a-token"}
    return found


@asynccontextmanager
async def standing_in(kept: StandInCluster) -> AsyncIterator[Cluster]:
    """Answer for as long as the block runs, and give what asks: the operator's own client."""
    async with running_http_server(kept.answer) as server, open_cluster(configuration(server)) as cluster:
        yield cluster
