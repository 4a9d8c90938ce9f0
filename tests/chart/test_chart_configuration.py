"""What the chart configures the services with is what they understand, all of it, and what was meant."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from aviso_core.settings.dump import dump
from aviso_core.settings.loader import CONFIG_FILE, load
from aviso_core.startup import configured_catalog
from aviso_operator.options import ReleaseFinalizers, Run, Watched, parse
from chart.value_sets import SERVICES, SETS
from chart.values_reference import VALUES, read_values
from support.chart import CHART, NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from aviso_core.settings.model import Settings
    from chart.values_reference import Value
    from support.chart import Chart, Object, Rendered

# What the operator reads beside the configuration comes from elsewhere; see `aviso_operator.__main__`.
_OF_SERVICES: Final = {"application": {"host": "127.0.0.1", "port": 0}}
_SECRET: Final = "a secret that is as long as a key has to be, and longer"


def fullname(name: str) -> str:
    release = SETS[name].release
    return {
        "names": "weather",
        "half a name": "prod-events",
        "another name of the release": "prod-aviso",
    }.get(name, release)


def loaded(release: Rendered, name: str, tmp_path: Path) -> Settings:
    """Return the settings of a workload as its container would load them."""
    container = release.container("Deployment", name)
    environ = {}
    for variable in container["env"]:
        if "value" in variable:
            environ[variable["name"]] = variable["value"]
        elif "secretKeyRef" in variable["valueFrom"]:
            environ[variable["name"]] = _SECRET
    environ = {key: value for key, value in environ.items() if key.startswith("AVISOSERVER_")}
    (mount,) = [one for one in container["volumeMounts"] if one["mountPath"] == environ[CONFIG_FILE]]
    text = release.one("ConfigMap", name)["data"][mount["subPath"]]
    file = tmp_path / f"{name}.yaml"
    file.write_text(text, encoding="utf-8")
    return load({**environ, CONFIG_FILE: str(file)})


@pytest.mark.parametrize("name", SETS)
def test_every_service_starts_with_what_it_is_given(
    releases: Mapping[str, Rendered], name: str, tmp_path: Path
) -> None:
    """No fault is found, and no key is one that nobody reads."""
    for service in SERVICES:
        workload = f"{fullname(name)}-{service}"
        settings = loaded(releases[name], workload, tmp_path)
        configured_catalog(settings)
        known = json.loads(json.dumps(dump(settings)))
        written = releases[name].configuration(service, name=workload)
        assert list(_unread(written, known, ())) == []


@pytest.mark.parametrize("name", SETS)
def test_the_operator_starts_with_what_it_is_given(
    releases: Mapping[str, Rendered], name: str, tmp_path: Path
) -> None:
    """It meets the same broker as the services, and watches what the values say."""
    workload = f"{fullname(name)}-operator"
    release = releases[name]
    container = release.container("Deployment", workload)
    environ = {one["name"]: one["value"] for one in container["env"] if "value" in one}
    options = parse(["run"], environ)
    assert isinstance(options, Run)
    namespaces = SETS[name].values.get("operator", {}).get("namespaces") or [NAMESPACE]
    is_everywhere = SETS[name].values.get("rbac", {}).get("scope") == "cluster"
    assert options.watched == Watched(None if is_everywhere else tuple(namespaces))
    assert options.port == container["ports"][0]["containerPort"]
    text = json.dumps({**release.configuration("operator", name=workload), **_OF_SERVICES})
    file = tmp_path / "operator.yaml"
    file.write_text(text, encoding="utf-8")
    ours = load({CONFIG_FILE: str(file)}).notification_backend.jetstream
    theirs = loaded(release, f"{fullname(name)}-ingest", tmp_path).notification_backend.jetstream
    assert (ours.nats_url, ours.replicas) == (theirs.nats_url, theirs.replicas)
    assert (ours.max_messages, ours.max_bytes) == (theirs.max_messages, theirs.max_bytes)


def test_finalizers_are_released_where_the_operator_looked(releases: Mapping[str, Rendered]) -> None:
    wanted = {
        "nothing given": Watched((NAMESPACE,)),
        "other namespaces": Watched(("forecast", "archive")),
        "the whole cluster": Watched(None),
    }
    for name, watched in wanted.items():
        command, *arguments = releases[name].container("Job", "aviso-release-finalizers")["command"]
        assert command == "aviso-operator"
        assert parse(arguments, {}) == ReleaseFinalizers(watched=watched)


def test_streams_have_as_many_replicas_as_the_broker_has_servers(releases: Mapping[str, Rendered]) -> None:
    """The registry's buckets too, which go by the same number."""
    wanted = {"nothing given": 1, "three servers": 3, "a broker that takes everybody": 3}
    assert {name: _jetstream(releases[name])["replicas"] for name in wanted} == wanted


def test_every_component_is_a_user_of_its_own(releases: Mapping[str, Rendered]) -> None:
    """With the password of that user, and with no other."""
    for name, secret in (
        ("nothing given", "aviso-nats-auth"),
        ("three servers, encrypted", "broker-passwords"),
    ):
        for component in ("operator", *SERVICES):
            assert _jetstream(releases[name], component)["user"] == component
            assert _secrets(releases[name], component) == [(secret, f"{component}-password")]
    given = releases["a broker with passwords"]
    assert _jetstream(given, "ingest")["user"] == "writer"
    assert _secrets(given, "ingest") == [("broker", "ingest-password")]
    assert _secrets(releases["a broker with a token"], "gateway") == [("broker", "token")]


def test_credentials_are_files_that_are_there(releases: Mapping[str, Rendered]) -> None:
    release = releases["a broker with credentials"]
    for component in ("operator", *SERVICES):
        files = {key: value for key, value in _jetstream(release, component).items() if key.endswith("_file")}
        assert files == {
            "credentials_file": f"/etc/aviso/nats/{component}.creds",
            "tls_ca_file": "/etc/aviso/nats-tls/ca.crt",
            "tls_certificate_file": "/etc/aviso/nats-tls/tls.crt",
            "tls_key_file": "/etc/aviso/nats-tls/tls.key",
        }
        mounts = release.container("Deployment", f"aviso-{component}")["volumeMounts"]
        folders = [mount["mountPath"] for mount in mounts]
        assert [file for file in files.values() if file.rsplit("/", 1)[0] not in folders] == []


def test_the_brokers_key_stays_with_the_broker(releases: Mapping[str, Rendered]) -> None:
    """Clients get the authority's certificate out of the broker's Secret, and nothing else."""
    release = releases["three servers, encrypted"]
    for component in ("operator", *SERVICES):
        spec = release.one("Deployment", f"aviso-{component}")["spec"]["template"]["spec"]
        (volume,) = [one for one in spec["volumes"] if one["name"] == "nats-tls"]
        assert volume["secret"]["items"] == [{"key": "ca.crt", "path": "ca.crt"}]
        assert _jetstream(release, component)["nats_url"].startswith(
            "tls://aviso-nats-0.aviso-nats-headless:"
        )


def test_without_a_word_on_it_an_account_of_the_release_administers(releases: Mapping[str, Rendered]) -> None:
    auth = releases["nothing given"].configuration("ingest")["auth"]
    assert auth["enabled"] is True
    assert auth["kubernetes"] == {"enabled": True, "audience": "aviso", "realm": "kubernetes"}
    assert auth["admin_roles"] == {"kubernetes": [f"{NAMESPACE}:aviso-admin"]}
    assert "aviso-admin" in releases["nothing given"].names("ServiceAccount")
    given = releases["tokens of others"]
    assert given.configuration("ingest")["auth"]["admin_roles"] == {"staff": ["aviso-admin"]}
    assert "aviso-admin" not in given.names("ServiceAccount")
    assert releases["nobody is known"].configuration("ingest")["auth"] == {"enabled": False}


def test_events_say_the_address_that_users_know(releases: Mapping[str, Rendered]) -> None:
    wanted = {
        "nothing given": f"http://aviso.{NAMESPACE}.svc",
        "an edge on every node": f"http://aviso.{NAMESPACE}.svc:8080",
        "an Ingress": "https://aviso.example.org",
        "an HTTPRoute": "https://aviso.example.org",
        "no edge": "https://aviso.example.org",
        "an Ingress of any host": "https://any.example",
    }
    found = {name: releases[name].configuration("gateway")["application"]["base_url"] for name in wanted}
    assert found == wanted


def test_what_is_given_besides_goes_before_what_the_chart_writes(releases: Mapping[str, Rendered]) -> None:
    """For all services, and then for one of them."""
    release = releases["more configuration"]
    for service in SERVICES:
        cors = release.configuration(service)["application"]["cors"]
        assert cors == {"allowed_origins": ["https://portal.example"]}
    gateway = release.configuration("gateway")
    assert gateway["logging"] == {"level": "warn"}
    assert gateway["streams"]["max_waiting_bytes"] == 65536
    assert gateway["streams"]["drain_seconds"] == 60
    assert gateway["streams"]["trusted_proxy_hops"] == 2
    assert release.configuration("ingest")["logging"] == {"level": "debug"}
    assert _jetstream(release)["max_bytes"] == 1073741824


@pytest.mark.parametrize("name", SETS)
def test_all_that_the_chart_writes_is_refused_from_elsewhere(
    releases: Mapping[str, Rendered], name: str
) -> None:
    """But for the level of records, which no other object goes by, and what was given in the same way."""
    given = SETS[name].values
    besides = {"logging.level"}
    for values in (given, *(given.get(service, {}) for service in SERVICES)):
        besides |= set(_leaves(values.get("config", {}), ()))
    for service in SERVICES:
        written = set(_leaves(releases[name].configuration(service, name=f"{fullname(name)}-{service}"), ()))
        assert written - _computed().keys() - besides == set()


def test_values_that_are_to_be_set_instead_are_there() -> None:
    known = {".".join(path) for path in _paths(read_values(VALUES.read_text(encoding="utf-8")))}
    named = {one for instead in _computed().values() for one in instead.split(" or ") if one}
    assert len(named) > 20
    assert named - known == set()


def test_addresses_are_believed_from_one_hop_where_there_is_one(releases: Mapping[str, Rendered]) -> None:
    wanted = {"nothing given": 1, "no edge": 0, "an Ingress": 1, "an HTTPRoute": 1, "more configuration": 2}
    found = {
        name: releases[name].configuration("gateway")["streams"]["trusted_proxy_hops"] for name in wanted
    }
    assert found == wanted


def test_streams_end_within_the_time_that_pods_have(chart: Chart, tmp_path: Path) -> None:
    """The window of the values is the window of the service, whatever its size."""
    for seconds in (0, 10, 600):
        release = chart.render({"gateway": {"stream": {"drainWindowSeconds": seconds}}})
        assert loaded(release, "aviso-gateway", tmp_path).streams.drain_seconds == seconds
        spec = release.one("Deployment", "aviso-gateway")["spec"]["template"]["spec"]
        # The service's own bound, as `aviso_http.process` sets it, and time for the machine.
        assert spec["terminationGracePeriodSeconds"] >= 5 + max(20, seconds + 5) + 10


def _computed() -> dict[str, str]:
    """Return what the chart computes, with the values to set instead."""
    text = (CHART / "templates" / "_configuration.tpl").read_text(encoding="utf-8")
    (table,) = re.findall(r'define "aviso.computed" -}}\n(.*?)\{\{- end', text, re.DOTALL)
    computed = yaml.safe_load(table)
    assert isinstance(computed, dict)
    return computed


def _leaves(block: Any, path: tuple[str, ...]) -> Iterator[str]:
    if isinstance(block, dict) and path != ("auth", "admin_roles"):
        for key, value in block.items():
            yield from _leaves(value, (*path, key))
    else:
        yield ".".join(path)


def _paths(values: Sequence[Value]) -> Iterator[tuple[str, ...]]:
    for value in values:
        yield value.path
        yield from _paths(value.below)


def _jetstream(release: Rendered, component: str = "ingest") -> Object:
    backend = release.configuration(component)["notification_backend"]["jetstream"]
    assert isinstance(backend, dict)
    return backend


def _secrets(release: Rendered, component: str) -> list[tuple[str, str]]:
    """Return the keys of secrets in the environment of a component."""
    env = release.container("Deployment", f"aviso-{component}")["env"]
    references = [one["valueFrom"].get("secretKeyRef") for one in env if "valueFrom" in one]
    return [(one["name"], one["key"]) for one in references if one is not None]


def _unread(written: Any, known: Any, path: tuple[str, ...]) -> Iterator[str]:
    """Yield each key that is written and that the settings do not have; only maps of ours have keys of their own."""
    if not isinstance(written, dict) or path in {("auth", "admin_roles"), ("notification_schema",)}:
        return
    for key, value in written.items():
        if not isinstance(known, dict) or key not in known:
            yield ".".join((*path, key))
        else:
            yield from _unread(value, known[key], (*path, key))
