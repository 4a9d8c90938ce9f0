"""The broker of the chart, by a real server: its configuration is one, and each user may what its component does."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
from typing import TYPE_CHECKING, Final

import pytest

from aviso_operator.installation.__main__ import main
from support.certificates import authority, write_certificate
from support.nats import Server, running_server, server_program

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from support.chart import Chart, Rendered

USERS: Final = ("operator", "ingest", "gateway", "schema", "cluster")
PASSWORDS: Final = {f"{user.upper()}_PASSWORD": f"p-of-{user}" for user in USERS}

EVENT: Final = "alert.north.3"
MAKE_STREAM: Final = (
    "$JS.API.STREAM.CREATE.ALERT",
    "$JS.API.STREAM.UPDATE.ALERT",
    "$JS.API.STREAM.DELETE.ALERT",
)
LOOK_AT_STREAM: Final = "$JS.API.STREAM.INFO.ALERT"
FOLLOW_REGISTRY: Final = (
    "$JS.API.STREAM.INFO.KV_aviso-schemas",
    "$JS.API.STREAM.MSG.GET.KV_aviso-schemas",
    "$JS.API.CONSUMER.CREATE.KV_aviso-schemas.one.$KV.aviso-schemas.>",
    "$JS.API.STREAM.INFO.KV_aviso-keys",
    "$JS.API.CONSUMER.CREATE.KV_aviso-keys.one.$KV.aviso-keys.>",
)
READ_EVENTS: Final = ("$JS.API.CONSUMER.CREATE.ALERT.one.alert.>", "$JS.API.STREAM.MSG.GET.ALERT")
ERASE_EVENTS: Final = ("$JS.API.STREAM.PURGE.ALERT", "$JS.API.STREAM.MSG.DELETE.ALERT")
ERASE_REGISTRY: Final = (
    "$JS.API.STREAM.PURGE.KV_aviso-schemas",
    "$JS.API.STREAM.MSG.DELETE.KV_aviso-schemas",
)
WRITE_REGISTRY: Final = "$KV.aviso-schemas.runs"
WRITE_KEYS: Final = "$KV.aviso-keys.jwks"
ACKNOWLEDGE: Final = "$KV.aviso-acks.ingest.pod"
SPEAK_FOR_OTHERS: Final = "_INBOX.somebody.else"

# What each may say; whatever else is here it may not.
MAY: Final[Mapping[str, set[str]]] = {
    "operator": {
        *MAKE_STREAM,
        *FOLLOW_REGISTRY,
        *READ_EVENTS,
        *ERASE_EVENTS,
        *ERASE_REGISTRY,
        *(LOOK_AT_STREAM, WRITE_REGISTRY, WRITE_KEYS, ACKNOWLEDGE),
    },
    "ingest": {*FOLLOW_REGISTRY, *READ_EVENTS, *ERASE_EVENTS, LOOK_AT_STREAM, EVENT, ACKNOWLEDGE},
    "gateway": {*FOLLOW_REGISTRY, *READ_EVENTS, LOOK_AT_STREAM, ACKNOWLEDGE},
    "schema": {*FOLLOW_REGISTRY, ACKNOWLEDGE},
}
EVERYTHING: Final = sorted(set().union(*MAY.values()) | {SPEAK_FOR_OTHERS})


def written(release: Rendered, folder: Path) -> str:
    """Return the configuration as it is in a pod, but for where the pod's files are."""
    text = release.one("ConfigMap", "aviso-nats")["data"]["nats.conf"]
    for inside in ("/data", "/tmp/nats.pid", "/etc/nats-tls"):  # noqa: S108 (a volume of its own)
        text = text.replace(f'"{inside}', f'"{folder}{inside}')
    return str(text)


@pytest.mark.parametrize("name", ["nothing given", "three servers", "three servers, encrypted"])
def test_the_server_takes_its_configuration(
    releases: Mapping[str, Rendered], name: str, tmp_path: Path
) -> None:
    """With passwords from the environment, and with certificates where they are asked for."""
    certificates = tmp_path / "etc" / "nats-tls"
    certificates.mkdir(parents=True)
    signer = authority()
    (certificates / "ca.crt").write_bytes(signer.pem)
    # Both are in one file, of which either reader takes its part.
    write_certificate(certificates / "tls.crt", signer, "127.0.0.1")
    (certificates / "tls.key").write_bytes((certificates / "tls.crt").read_bytes())
    configuration = tmp_path / "nats.conf"
    configuration.write_text(written(releases[name], tmp_path), encoding="utf-8")
    ran = subprocess.run(
        [server_program(), "-t", "--config", configuration],
        env={**os.environ, **PASSWORDS, "POD_NAME": "aviso-nats-0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


@pytest.fixture(scope="module")
def broker(release: Rendered, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Run a server with the users of the chart."""
    text = written(release, tmp_path_factory.mktemp("unused"))
    (users,) = re.findall(r"^authorization \{.*?^\}", text, re.MULTILINE | re.DOTALL)
    with pytest.MonkeyPatch.context() as patch:
        for name, password in PASSWORDS.items():
            patch.setenv(name, password)
        with running_server(tmp_path_factory.mktemp("broker"), settings=[users]) as running:
            yield running


def refused(broker: Server, who: Mapping[str, str], *words: str) -> list[str]:
    """Say something to the broker as a user, and return what it refuses, until it answers that it has read all.

    By hand: a client library would tell of refusals whenever it gets round to it.
    """
    lines = [f"CONNECT {json.dumps({'verbose': False, 'pedantic': False, **who})}", *words, "PING", ""]
    found = []
    with socket.create_connection(("127.0.0.1", broker.port), timeout=20) as connection:
        connection.sendall("\r\n".join(lines).encode())
        with connection.makefile("r", encoding="utf-8") as answers:
            for line in answers:
                if line.startswith("PONG"):
                    break
                if line.startswith("-ERR"):
                    found.append(line.removeprefix("-ERR ").strip())
    return found


def user_of(component: str) -> Mapping[str, str]:
    return {"user": component, "pass": PASSWORDS[f"{component.upper()}_PASSWORD"]}


@pytest.mark.parametrize("user", MAY)
def test_a_user_may_what_its_component_does_and_no_more(broker: Server, user: str) -> None:
    """Only the operator makes streams and event types, only ingest writes events, and the catalog reads none."""
    said = [f"PUB {subject} _INBOX.nobody.listens 0\r\n" for subject in EVERYTHING]
    told = refused(broker, user_of(user), *said)
    found = {match[1] for line in told if (match := re.search(r'Publish to "([^"]+)"', line))}
    assert len(found) == len(told)
    assert set(EVERYTHING) - found == MAY[user]


@pytest.mark.parametrize("who", [{}, {"user": "ingest", "pass": "wrong"}, {"user": "nobody", "pass": "p"}])
def test_nobody_else_is_let_in(broker: Server, who: Mapping[str, str]) -> None:
    assert refused(broker, who) == ["'Authorization Violation'"]


@pytest.mark.parametrize("user", MAY)
def test_answers_are_heard_and_nothing_else(broker: Server, user: str) -> None:
    """Nobody listens to what is published, nor to what others are answered: events are read from their stream."""
    asked = (f"SUB _INBOX.{user}.> 1", "SUB alert.> 2", "SUB _INBOX.other.> 3", "SUB _INBOX.> 4")
    refusals = refused(broker, user_of(user), *asked)
    found = [match[1] for line in refusals if (match := re.search(r'Subscription to "([^"]+)"', line))]
    assert found == ["alert.>", "_INBOX.other.>", "_INBOX.>"]


def test_a_crash_loses_nothing_and_a_power_cut_what_is_said(releases: Mapping[str, Rendered]) -> None:
    """How often the disk is made to hold what was written is a value, and stands in the configuration."""
    for name, interval in (("nothing given", "10s"), ("three servers, encrypted", "always")):
        conf = releases[name].one("ConfigMap", "aviso-nats")["data"]["nats.conf"]
        assert f"sync_interval: {interval}\n" in conf


def test_servers_find_each_other_by_name_before_they_are_ready(releases: Mapping[str, Rendered]) -> None:
    release = releases["three servers"]
    stateful = release.one("StatefulSet", "aviso-nats")["spec"]
    assert (stateful["replicas"], stateful["podManagementPolicy"]) == (3, "Parallel")
    headless = release.one("Service", stateful["serviceName"])["spec"]
    assert (headless["clusterIP"], headless["publishNotReadyAddresses"]) == ("None", True)
    (routes,) = [
        word
        for word in release.container("StatefulSet", "aviso-nats")["args"]
        if word.startswith("--routes=")
    ]
    assert re.findall(r"@([\w.-]+):6222", routes) == [
        f"aviso-nats-{number}.aviso-nats-headless" for number in range(3)
    ]
    assert "--routes" not in str(releases["nothing given"].container("StatefulSet", "aviso-nats")["args"])


def test_messages_stay_when_the_release_goes(releases: Mapping[str, Rendered]) -> None:
    """And a release that comes back finds them by the same names."""
    stateful = releases["three servers, encrypted"].one("StatefulSet", "aviso-nats")["spec"]
    assert stateful["persistentVolumeClaimRetentionPolicy"] == {
        "whenDeleted": "Retain",
        "whenScaled": "Retain",
    }
    (claim,) = stateful["volumeClaimTemplates"]
    assert claim["spec"]["resources"]["requests"]["storage"] == "100Gi"
    assert claim["spec"]["storageClassName"] == "fast"


@pytest.mark.parametrize(("name", "servers"), [("nothing given", 1), ("three servers", 3)])
def test_a_disk_is_of_as_many_servers_as_at_first(
    releases: Mapping[str, Rendered], name: str, servers: int, tmp_path: Path
) -> None:
    """A server looks at the stamp before it starts, as the user who owns it; a claim says the number as well."""
    spec = releases[name].one("StatefulSet", "aviso-nats")["spec"]
    (claim,) = spec["volumeClaimTemplates"]
    assert claim["metadata"]["labels"]["aviso.dev/servers"] == str(servers)
    pod = spec["template"]["spec"]
    (stamp,), (server,) = pod["initContainers"], pod["containers"]
    assert {"name": "data", "mountPath": "/data"} in stamp["volumeMounts"]
    assert stamp["securityContext"] == server["securityContext"]
    assert stamp["command"][:3] == ["python", "-m", "aviso_operator.installation"]
    arguments = [word.replace("/data", str(tmp_path)) for word in stamp["command"][3:]]
    assert main(arguments) == 0
    (file,) = tmp_path.iterdir()
    assert file.read_text(encoding="utf-8") == f"{servers}\n"


def test_a_server_of_three_has_caught_up_before_the_next_one_goes(releases: Mapping[str, Rendered]) -> None:
    """One alone waits for nobody; and what comes up with all others is not killed for half an hour."""
    for name, path in (("nothing given", "/healthz?js-enabled-only=true"), ("three servers", "/healthz")):
        probe = releases[name].container("StatefulSet", "aviso-nats")["startupProbe"]
        assert probe["httpGet"]["path"] == path
        assert probe["periodSeconds"] * probe["failureThreshold"] == 1800


@pytest.mark.parametrize(
    ("storage", "streams"),
    [
        ({"size": "100Gi"}, 80 * 2**30),
        ({"size": "1000"}, 800),
        ({"size": "1T"}, 800 * 10**9),
        ({"size": "10Gi", "maxStreams": "10Gi"}, 10 * 2**30),
        ({"size": "1Ti", "maxStreams": "5k"}, 5000),
    ],
)
def test_streams_take_what_is_said_or_most_of_the_disk(
    chart: Chart, storage: Mapping[str, str], streams: int
) -> None:
    conf = chart.render({"nats": {"storage": storage}}).one("ConfigMap", "aviso-nats")["data"]["nats.conf"]
    assert f"max_file_store: {streams}\n" in conf


def test_no_broker_is_brought_where_there_is_one(releases: Mapping[str, Rendered]) -> None:
    release = releases["a broker that takes everybody"]
    assert release.all("StatefulSet") == []
    assert not [one for one in release.objects if "nats" in one["metadata"]["name"]]
