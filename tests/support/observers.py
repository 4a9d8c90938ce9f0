"""An observer of objects and services: what the status says must be so, all the time.

It follows the objects of some namespaces as any client does, and asks services what they serve. An object that says
`Ready` for its own generation must be served as that generation declares it, by every service that answers. What a
generation declares is told by one number, the largest severity that it allows, which tests only ever raise.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import httpx
from anyio.from_thread import start_blocking_portal

from aviso_operator.resources import GROUP, PLURAL, VERSION
from support.claims import claims_ready, key_of, serves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from support.apiserver import ApiServer
    from support.claims import Body

PATIENCE_SECONDS: Final = 30.0
_BETWEEN_LOOKS_SECONDS: Final = 0.05
_RETRY_SECONDS: Final = 0.1
_GONE: Final = 410


class Observer:
    """What was seen of the objects so far, and whatever was said in their status that was not so."""

    def __init__(self, server: ApiServer, namespaces: Sequence[str], services: Sequence[str]) -> None:
        self.violations: list[str] = []
        self.looked: dict[str, str] = {}
        """Of each object the version that was held against what services serve last."""
        self.services = list(services)
        self.ended = asyncio.Event()
        self._server = server
        self._namespaces = namespaces
        self._objects: dict[str, Body] = {}
        self._revisions: dict[str, int] = {}
        self._news = threading.Condition()

    # --- what tests wait for -----------------------------------------------------------------------------

    def get(self, key: str) -> Body | None:
        """Return an object as it was seen last, by `namespace/name`."""
        return self._objects.get(key)

    def wait(
        self, key: str, is_so: Callable[[Body], bool], what: str, *, seconds: float = PATIENCE_SECONDS
    ) -> Body:
        """Wait until something is so of an object that is there, and return it."""
        with self._news:
            self._news.wait_for(lambda: (body := self.get(key)) is not None and is_so(body), timeout=seconds)
            found = self.get(key)
            assert found is not None, f"{key} is not there"
            assert is_so(found), f"{key} is not {what}: {json.dumps(found.get('status'), indent=1)}"
            return found

    def wait_gone(self, key: str, *, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until an object is no more."""
        with self._news:
            self._news.wait_for(lambda: key not in self._objects, timeout=seconds)
        assert key not in self._objects, f"{key} is still there"

    def wait_looked(self, body: Body) -> None:
        """Wait until an object that says that it is ready was held against what services serve, or has changed."""
        key, version = key_of(body), body["metadata"]["resourceVersion"]
        with self._news:
            looked = self._news.wait_for(
                lambda: self.looked.get(key) == version or self.get(key) is not body, PATIENCE_SECONDS
            )
        assert looked, f"nobody has looked whether {key} is served"

    def forget_revisions(self) -> None:
        """Let revisions begin anew: who counts them was replaced."""
        self._revisions.clear()

    def check(self) -> None:
        """Fail if anything was said that was not so."""
        assert not self.violations, "\n".join(self.violations)

    # --- following ---------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Follow and look until it is ended."""
        context = ssl.create_default_context(cafile=str(self._server.ca_file))
        headers = {"Authorization": f"Bearer {self._server.admin_token}"}
        async with (
            httpx.AsyncClient(verify=context, headers=headers, timeout=10) as cluster,
            httpx.AsyncClient(timeout=5) as services,
        ):
            work = [
                *(self._follow(cluster, namespace) for namespace in self._namespaces),
                self._look_for_ever(cluster, services),
                self.ended.wait(),
            ]
            tasks = [asyncio.create_task(one) for one in work]
            done, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)
            for task in done:
                task.result()

    async def _follow(self, cluster: httpx.AsyncClient, namespace: str) -> None:
        place = self._place(namespace)
        while True:
            try:
                listed = (await cluster.get(place)).raise_for_status().json()
                self._take_all(namespace, listed["items"])
                await self._watch(cluster, place, listed["metadata"]["resourceVersion"])
            except httpx.HTTPError:
                await asyncio.sleep(_RETRY_SECONDS)

    async def _watch(self, cluster: httpx.AsyncClient, place: str, version: str) -> None:
        query = {"watch": "1", "resourceVersion": version}
        async with cluster.stream("GET", place, params=query, timeout=None) as answer:
            if answer.status_code == _GONE:
                return
            answer.raise_for_status()
            async for line in answer.aiter_lines():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return
                self._take(event["type"], event["object"])

    def _place(self, namespace: str) -> str:
        return f"{self._server.url}/apis/{GROUP}/{VERSION}/namespaces/{namespace}/{PLURAL}"

    def _take_all(self, namespace: str, bodies: Sequence[Body]) -> None:
        there = {key_of(body) for body in bodies}
        with self._news:
            for key in [key for key in self._objects if key.startswith(f"{namespace}/")]:
                if key not in there:
                    del self._objects[key]
            self._news.notify_all()
        for body in bodies:
            self._take("ADDED", body)

    def _take(self, kind: str, body: Body) -> None:
        key = key_of(body)
        with self._news:
            if kind == "DELETED":
                self._objects.pop(key, None)
            else:
                self._objects[key] = body
                self._check_revision(key, body)
            self._news.notify_all()

    def _check_revision(self, key: str, body: Body) -> None:
        revision = body.get("status", {}).get("revision", 0)
        before = self._revisions.get(key, 0)
        # An object that was made anew has none yet.
        if revision and revision < before:
            self.violations.append(f"{key} went from revision {before} back to {revision}")
        self._revisions[key] = max(before, revision)

    # --- holding it against what is served ---------------------------------------------------------------

    async def _look_for_ever(self, cluster: httpx.AsyncClient, services: httpx.AsyncClient) -> None:
        while True:
            claims = [body for body in tuple(self._objects.values()) if claims_ready(body)]
            for service in tuple(self.services) if claims else ():
                await self._look(cluster, services, service, claims)
            await asyncio.sleep(_BETWEEN_LOOKS_SECONDS)

    async def _look(
        self,
        cluster: httpx.AsyncClient,
        services: httpx.AsyncClient,
        service: str,
        claims: Sequence[Body],
    ) -> None:
        try:
            answer = await services.get(f"{service}/api/v1/schema")
        except httpx.HTTPError:
            # One that is not there serves nothing to anybody, and makes nothing untrue.
            return
        served = answer.json().get("schema", {}) if answer.status_code == 200 else {}
        for body in claims:
            if not serves(served, body) and await self._still_claims(cluster, body):
                said = json.dumps(served.get(body["spec"]["eventType"]))
                self.violations.append(f"{key_of(body)} is said to be ready, and {service} serves {said}")
        with self._news:
            self.looked |= {key_of(body): body["metadata"]["resourceVersion"] for body in claims}
            self._news.notify_all()

    async def _still_claims(self, cluster: httpx.AsyncClient, body: Body) -> bool:
        """Tell whether the object still is as it was held against a service: it may have changed before that."""
        metadata = body["metadata"]
        try:
            answer = await cluster.get(f"{self._place(metadata['namespace'])}/{metadata['name']}")
        except httpx.HTTPError:
            return False
        if answer.status_code != 200:
            return False
        now: Body = answer.json()
        same = all(now["metadata"][name] == metadata[name] for name in ("uid", "generation"))
        return same and claims_ready(now)


@contextmanager
def observing(server: ApiServer, namespaces: Sequence[str], services: Sequence[str]) -> Iterator[Observer]:
    """Observe for as long as the block runs; what was said that was not so fails the test at its end."""
    observer = Observer(server, namespaces, services)
    with start_blocking_portal() as portal:
        running = portal.start_task_soon(observer.run)
        try:
            yield observer
        finally:
            portal.call(observer.ended.set)
            running.result(PATIENCE_SECONDS)
    observer.check()
