"""The operator as a process of its own, on a real API server and a real broker, beside a service that follows it.

Three questions: how long it takes from the creation of an object until its event type is accepted and can be watched;
what it costs to make 500 objects live that were there before the operator was; and what it costs when nothing happens.
Requests are counted by the API server's audit log, under the operator's own account, which may do what the chart lets
it do. With `--long` the idle operator is watched for two resyncs at their usual pace; else the one minute has a resync
in it, five times as often as usual.
"""

from __future__ import annotations

import json
import os
import ssl
import sys
import time
from collections import Counter
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from aviso_operator.resources import GROUP, PLURAL, VERSION
from measure import Bar, CannotMeasure, print_table
from program import run, temporary_folder
from serving import serving
from streaming import JSON, NOTIFICATION, WATCH, avisod, get
from support.apiserver import running_apiserver
from support.cluster_objects import document, install_definition, make_namespace, service_account
from support.kubernetes_programs import ABSENT, find_programs
from support.nats import running_server
from support.rights import operator_rules

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from serving import Service
    from support.apiserver import ApiServer

APPLIED: Final = 50
MANY: Final = 500
IDLE_SECONDS: Final = 60.0
LONG_SECONDS: Final = 600.0
RESYNC_SECONDS: Final = 300.0
_NAMESPACE: Final = "weather"
_ACCOUNT: Final = "aviso-operator"
_RESOLUTION_SECONDS: Final = 0.005
_LIMIT_SECONDS: Final = 300.0
# What is begun at the start is over by then: acknowledgements that come a little later, the garbage of it all.
_SETTLE_SECONDS: Final = 10.0


def spec(base: str) -> dict[str, Any]:
    """Return what an ordinary event type looks like."""
    return {
        "topic": {"base": base, "keyOrder": ["region", "date", "severity"]},
        "identifiers": [
            {"name": "region", "type": "Enum", "enum": {"values": ["north", "south", "east", "west"]}},
            {"name": "date", "type": "Date"},
            {"name": "severity", "type": "Int", "int": {"min": 1, "max": 5}},
        ],
        "payload": {"required": False},
        "auth": {"required": False},
        "storage": {"retention": "3d", "maxMessages": 1000},
    }


# --- the world -------------------------------------------------------------------------------------------


class World(NamedTuple):
    """What runs beside the operator."""

    api: ApiServer
    broker_url: str
    folder: Path
    audit: Path

    @contextmanager
    def objects(self) -> Iterator[HTTPSConnection]:
        """Connect to the API server."""
        trusted = ssl.create_default_context(cafile=str(self.api.ca_file))
        host, _, port = self.api.url.removeprefix("https://").partition(":")
        with closing(HTTPSConnection(host, int(port), context=trusted, timeout=30)) as connection:
            yield connection

    def create(self, connection: HTTPSConnection, name: str) -> None:
        """Create an object, as `kubectl create` does."""
        headers = {"Authorization": f"Bearer {self.api.admin_token}", "Content-Type": "application/json"}
        body = json.dumps(document(name, spec(name)))
        path = f"/apis/{GROUP}/{VERSION}/namespaces/{_NAMESPACE}/{PLURAL}"
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        said = answer.read()
        if answer.status != 201:
            raise RuntimeError(f"the object is refused: {said.decode()}")

    def operator(self, *, resync_seconds: float = RESYNC_SECONDS) -> AbstractContextManager[Service]:
        """Run the operator while a block does."""
        return serving(
            [
                *(sys.executable, "-m", "aviso_operator", "run", "--all-namespaces"),
                *("--listen", "127.0.0.1:{port}", "--resync-seconds", str(resync_seconds)),
                *("--log-level", "warn"),
            ],
            folder=self.folder,
            environment={
                "KUBECONFIG": str(self.folder / "operator.kubeconfig"),
                "AVISOSERVER_NOTIFICATION_BACKEND__JETSTREAM__NATS_URL": self.broker_url,
            },
            ready="/readyz",
        )

    def service(self) -> AbstractContextManager[Service]:
        """Run a service that follows what the operator publishes, while a block does."""
        backend = {"kind": "jetstream", "jetstream": {"nats_url": self.broker_url}}
        settings = {
            "application": {"host": "127.0.0.1", "port": 0},
            "notification_backend": backend,
            "registry": {"kind": "jetstream"},
            "logging": {"level": "warn"},
        }
        return avisod(self.folder, settings)

    def requests(self) -> Counter[str]:
        """Return how often the operator's account has asked for what, so far."""
        user = f"system:serviceaccount:{_NAMESPACE}:{_ACCOUNT}"
        counted: Counter[str] = Counter()
        for line in self.audit.read_bytes().splitlines():
            event = json.loads(line)
            if event["user"]["username"] != user:
                continue
            asked = event.get("objectRef")
            what = event["requestURI"].partition("?")[0]
            if asked is not None:
                what = "/".join(filter(None, (asked.get("resource"), asked.get("subresource"))))
            counted[f"{event['verb']} {what}"] += 1
        return counted


@contextmanager
def world(folder: Path) -> Iterator[World]:
    """Run an API server with the definition and an account for the operator, and a broker, while the block runs."""
    programs = find_programs()
    if programs is None:
        raise LookupError(ABSENT)
    folder.mkdir()
    audit, policy = folder / "audit.jsonl", folder / "audit-policy.json"
    rule = {"level": "Metadata", "omitStages": ["RequestReceived"]}
    policy.write_text(json.dumps({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [rule]}))
    flags = (f"--audit-policy-file={policy}", f"--audit-log-path={audit}")
    with (
        running_apiserver(programs, folder / "api", flags=flags) as api,
        running_server(folder / "nats") as broker,
    ):
        install_definition(api)
        make_namespace(api, _NAMESPACE)
        token = service_account(api, _NAMESPACE, _ACCOUNT, cluster_rules=operator_rules())
        api.write_kubeconfig(folder / "operator.kubeconfig", token)
        yield World(api, broker.url, folder, audit)


# --- from applying to live -------------------------------------------------------------------------------


def apply_to_live(there: World) -> list[tuple[float, float]]:
    """Create objects one after the other; return milliseconds until each was accepted, and could be watched."""
    with there.operator(), there.service() as service, there.objects() as connection:
        return [_make_live(there, connection, service.port, f"applied{number}") for number in range(APPLIED)]


def _make_live(there: World, connection: HTTPSConnection, port: int, name: str) -> tuple[float, float]:
    identifier = {"region": "north", "date": "20250706", "severity": 3}
    notification = {"event_type": name, "identifier": identifier}
    began = time.perf_counter()
    there.create(connection, name)
    _ask_until_taken(port, NOTIFICATION, notification)
    accepted = time.perf_counter()
    _ask_until_taken(port, WATCH, {"event_type": name, "identifier": {"region": "north"}})
    return (accepted - began) * 1e3, (time.perf_counter() - began) * 1e3


def _ask_until_taken(port: int, path: str, body: object) -> None:
    """Ask until the answer is 200, and read no more of it."""
    deadline = time.perf_counter() + _LIMIT_SECONDS
    while True:
        with closing(HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
            connection.request("POST", path, json.dumps(body), dict(JSON))
            answer = connection.getresponse()
            if answer.status == 200:
                return
            if answer.status not in (400, 404) or time.perf_counter() > deadline:
                raise RuntimeError(f"{path} answers {answer.status}: {answer.read().decode()}")
        # A client has no other way to know than to ask again.
        time.sleep(_RESOLUTION_SECONDS)


# --- many at once ----------------------------------------------------------------------------------------


class Start(NamedTuple):
    """What it took until all objects were Ready."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    asked: Counter[str]

    @property
    def requests_each(self) -> float:
        """Requests to the API server for each object."""
        return self.asked.total() / MANY

    def row(self, what: str) -> Sequence[object]:
        """Return the line of the table."""
        return what, self.seconds, self.cpu_seconds, self.peak_bytes / 1e6, self.requests_each


class Idle(NamedTuple):
    """What it costs that it is there."""

    seconds: float
    cpu_seconds: float
    resident_bytes: int
    asked: int

    @property
    def percent(self) -> float:
        """The share of one core."""
        return self.cpu_seconds / self.seconds * 100

    def row(self, what: str) -> Sequence[object]:
        """Return the line of the table."""
        return what, self.seconds, self.percent, self.resident_bytes / 1e6, self.asked


def start_with_many(there: World, *, idle_seconds: float, resync_seconds: float) -> tuple[Start, Start, Idle]:
    """Start an operator on objects that nobody has looked at, start it again, and leave it alone."""
    # A service is ready once there is a registry, which is the operator's to make.
    with there.operator():
        pass
    with there.service():
        with there.objects() as connection:
            for number in range(MANY):
                there.create(connection, f"many{number}")
        before, began = there.requests(), time.perf_counter()
        with there.operator() as operator:
            first = _wait_ready(there, operator, before, began=began)
        before, began = there.requests(), time.perf_counter()
        with there.operator(resync_seconds=resync_seconds) as operator:
            again = _wait_ready(there, operator, before, began=began)
            time.sleep(_SETTLE_SECONDS)
            asked, cpu, began = there.requests(), operator.tree.cpu_seconds(), time.perf_counter()
            time.sleep(idle_seconds)
            cpu, seconds = operator.tree.cpu_seconds() - cpu, time.perf_counter() - began
            resident = operator.tree.resident_bytes()
            return first, again, Idle(seconds, cpu, resident, (there.requests() - asked).total())


def _wait_ready(there: World, operator: Service, before: Counter[str], *, began: float) -> Start:
    """Wait until all are Ready by what the operator says, and hold that to what the API server has."""
    deadline = began + _LIMIT_SECONDS
    wanted = f'aviso_operator_eventschemas{{ready="True"}} {float(MANY)}'.encode()
    while wanted not in get(operator.port, "/metrics"):
        if time.perf_counter() > deadline:
            raise RuntimeError(f"not all objects are Ready: {get(operator.port, '/metrics').decode()}")
        # It has no other way to tell.
        time.sleep(0.1)
    seconds = time.perf_counter() - began
    objects = there.api.kubectl_json("get", PLURAL, f"--namespace={_NAMESPACE}")["items"]
    ready = [
        condition["status"]
        for one in objects
        for condition in one["status"]["conditions"]
        if condition["type"] == "Ready" and condition["observedGeneration"] == one["metadata"]["generation"]
    ]
    if ready != ["True"] * MANY:
        raise RuntimeError("what the operator says is not what the API server has")
    asked = there.requests() - before
    return Start(seconds, operator.tree.cpu_seconds(), operator.tree.peak_resident_bytes(), asked)


def measure(folder: Path, *, is_long: bool) -> list[Bar]:
    """Run all of it and return the bars."""
    with world(folder / "apply") as there:
        lives = apply_to_live(there)
    with world(folder / "many") as there:
        first, again, idle = start_with_many(
            there,
            idle_seconds=LONG_SECONDS if is_long else IDLE_SECONDS,
            resync_seconds=RESYNC_SECONDS if is_long else IDLE_SECONDS,
        )
    accepted, watchable = ([one[place] for one in lives] for place in (0, 1))
    print_table(
        f"From creating an object to its event type being live, {APPLIED} times",
        ("until it is", "median ms", "p95 ms", "most ms"),
        [_row("accepted", accepted), _row("accepted and watchable", watchable)],
    )
    print_table(
        f"An operator that starts where there are {MANY} objects",
        ("start", "s until all are Ready", "s CPU", "MB at most", "requests each"),
        [first.row("first"), again.row("again")],
    )
    print("  " + ", ".join(f"{what}: {count}" for what, count in first.asked.most_common()))
    print_table(
        f"An operator with {MANY} objects on which nothing happens",
        ("", "s", "% of a core", "MB", "requests"),
        [idle.row("with two resyncs" if is_long else "with a resync each minute")],
    )
    print(f"  load of the machine, on {os.cpu_count()} cores: {os.getloadavg()[0]:.1f}")
    return [
        Bar("created → accepted and watchable, p95", _p95(watchable) / 1e3, "≤", 1, "s"),
        Bar(f"{MANY} objects at start, all Ready", first.seconds, "≤", 60, "s"),
        Bar(f"{MANY} objects, memory at most", max(first.peak_bytes, again.peak_bytes) / 1e6, "≤", 200, "MB"),
        Bar("API requests for each object", first.requests_each, "≤", 5, "requests"),
        Bar(f"idle with {MANY} objects", idle.percent, "≤", 2, "% of a core"),
    ]


def _p95(values: Sequence[float]) -> float:
    return quantiles(values, n=20, method="inclusive")[-1]


def _row(what: str, values: Sequence[float]) -> Sequence[object]:
    return what, quantiles(values, n=2)[0], _p95(values), max(values)


def _needs() -> None:
    if find_programs() is None:
        raise CannotMeasure(ABSENT)


def main() -> None:
    """Print the bars of the operator, or why this machine cannot measure them."""

    def work(arguments: Namespace) -> list[Bar]:
        with temporary_folder() as folder:
            return measure(Path(folder), is_long=arguments.long)

    flags = {"--long": "watch the idle operator for two resyncs at their usual pace"}
    run(__doc__, work, needs=_needs, flags=flags)


if __name__ == "__main__":
    main()
