"""Every path leads to the service that has it, by whichever way it comes in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

import aviso_ingest.openapi
import aviso_schema.openapi
import aviso_stream_gateway.openapi
from chart.nginx import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from support.chart import Rendered

# What each service says of its own routes; that it tells the truth is what the tests of the document are about.
PATHS: Final[Mapping[str, tuple[str, ...]]] = {
    "ingest": tuple(aviso_ingest.openapi.fragment()["paths"]),
    "gateway": tuple(aviso_stream_gateway.openapi.fragment()["paths"]),
    "schema": tuple(aviso_schema.openapi.fragment()["paths"]),
}
# Not to be mistaken for others: what only begins alike is not there, and the schema service says so.
STRANGERS: Final = (
    "/api/v1/notificationss",
    "/api/v1/notification/1",
    "/api/v1/watcher",
    "/api/v1/watch/",
    "/api/v1/positionsx",
    "/api/v1/administration",
    "/api/v1",
    "/metrics",
    "/favicon.ico",
)


def filled(path: str) -> str:
    """Return a path that the template is one of."""
    return re.sub(r"\{[^}]+\}", "one@1", path)


def by_edge(release: Rendered) -> Callable[[str], str]:
    """Return how nginx chooses: a location that is equal, or else the longest that the path begins with."""
    (http,) = parse(release.one("ConfigMap", "aviso-edge")["data"]["nginx.conf"]).blocks("http")
    server = next(one for one in http.blocks("server") if "8080" in one.value("listen"))

    def choose(path: str) -> str:
        plain = [one for one in server.blocks("location") if not one.words[-1].startswith("@")]
        exact = [one for one in plain if one.words == ("=", path)]
        begun = [one for one in plain if len(one.words) == 1 and path.startswith(one.words[0])]
        chosen = exact[0] if exact else max(begun, key=lambda one: len(one.words[0]))
        return chosen.value("proxy_pass")[0].removeprefix("http://")

    return choose


def by_ingress(release: Rendered) -> Callable[[str], str]:
    """Return how an Ingress chooses: equal before begun, longer before shorter, by whole segments."""
    paths = release.one("Ingress", "aviso")["spec"]["rules"][0]["http"]["paths"]
    table = [(one["pathType"], one["path"], one["backend"]["service"]["name"]) for one in paths]
    return lambda path: _chosen(table, path).removeprefix("aviso-")


def by_http_route(release: Rendered) -> Callable[[str], str]:
    """Return how a Gateway chooses: the same, over all rules."""
    table = [
        (match["path"]["type"].removeprefix("Path"), match["path"]["value"], rule["backendRefs"][0]["name"])
        for rule in release.one("HTTPRoute", "aviso")["spec"]["rules"]
        for match in rule["matches"]
    ]
    return lambda path: _chosen(table, path).removeprefix("aviso-")


WAYS: Final[Mapping[str, tuple[str, Callable[[Rendered], Callable[[str], str]]]]] = {
    "the edge": ("nothing given", by_edge),
    "an Ingress": ("an Ingress", by_ingress),
    "an HTTPRoute": ("an HTTPRoute", by_http_route),
}


@pytest.mark.parametrize(("name", "way"), WAYS.values(), ids=WAYS)
def test_every_path_of_a_service_leads_to_it(
    releases: Mapping[str, Rendered], name: str, way: Callable[[Rendered], Callable[[str], str]]
) -> None:
    choose = way(releases[name])
    wanted = {filled(path): service for service, paths in PATHS.items() for path in paths}
    assert len(wanted) > 15
    assert {path: choose(path) for path in wanted} == wanted


@pytest.mark.parametrize(("name", "way"), WAYS.values(), ids=WAYS)
def test_every_other_path_is_the_schema_services(
    releases: Mapping[str, Rendered], name: str, way: Callable[[Rendered], Callable[[str], str]]
) -> None:
    """It answers that there is no such path, as it does where everything is one process."""
    choose = way(releases[name])
    # By whole segments a slash at the end makes no difference to an Ingress or a Gateway: the service refuses it.
    strangers = [path for path in STRANGERS if name == "nothing given" or not path.endswith("/")]
    assert {path: choose(path) for path in strangers} == dict.fromkeys(strangers, "schema")


def test_no_route_leads_to_what_is_not_there(releases: Mapping[str, Rendered]) -> None:
    """Each entry of the table has a path of its service behind it."""
    paths = releases["an Ingress"].one("Ingress", "aviso")["spec"]["rules"][0]["http"]["paths"]
    for entry in paths:
        service = entry["backend"]["service"]["name"].removeprefix("aviso-")
        table = [(entry["pathType"], entry["path"], service)]
        assert any(_chosen(table, filled(path)) == service for path in PATHS[service]), entry["path"]


def test_the_edge_is_there_where_nothing_else_routes(releases: Mapping[str, Rendered]) -> None:
    """One address for all: the Service with the plain name."""
    for name in ("nothing given", "an HTTPRoute to the services, and the edge besides", "closed networks"):
        service = releases[name].one("Service", "aviso")
        assert service["spec"]["selector"]["app.kubernetes.io/component"] == "edge"
    for name in ("an Ingress", "an HTTPRoute", "no edge"):
        assert "aviso" not in releases[name].names("Service")
        assert "aviso-edge" not in releases[name].names("Deployment")


def test_an_ingress_has_what_its_controller_is_told(releases: Mapping[str, Rendered]) -> None:
    ingress = releases["an Ingress"].one("Ingress", "aviso")
    assert ingress["spec"]["ingressClassName"] == "public"
    assert ingress["metadata"]["annotations"] == {"example.org/buffering": "off"}
    assert [rule["host"] for rule in ingress["spec"]["rules"]] == ["aviso.example.org", "events.example.org"]
    assert ingress["spec"]["tls"][0]["secretName"] == "aviso-tls"
    (rule,) = releases["an Ingress of any host"].one("Ingress", "aviso")["spec"]["rules"]
    assert "host" not in rule


def test_a_gateway_lets_streams_last(releases: Mapping[str, Rendered]) -> None:
    """Requests to the gateway have no bound in time; the others keep that of whoever runs the Gateway."""
    rules = releases["an HTTPRoute"].one("HTTPRoute", "aviso")["spec"]["rules"]
    timeouts = {rule["backendRefs"][0]["name"]: rule.get("timeouts") for rule in rules}
    assert timeouts == {"aviso-ingest": None, "aviso-gateway": {"request": "0s"}, "aviso-schema": None}


def _chosen(table: list[tuple[str, str, str]], path: str) -> str:
    """Return where a path goes, by the rules that Ingress and HTTPRoute share; nowhere is empty."""
    exact = [to for kind, own, to in table if kind == "Exact" and own == path]
    begun = [
        (len(own), to)
        for kind, own, to in table
        if kind == "Prefix" and f"{path.rstrip('/')}/".startswith(f"{own.rstrip('/')}/")
    ]
    return exact[0] if exact else max(begun, default=(0, ""))[1]


def test_the_parser_of_these_tests_reads_blocks() -> None:
    """A configuration is words that end in a semicolon or open a block; quotes keep words together."""
    made = parse('a 1;\nb { c "x y"; # told\n location = /d { e; } }\n')
    assert made.value("a") == ("1",)
    (block,) = made.blocks("b")
    assert block.value("c") == ("x y",)
    assert [one.words for one in block.blocks("location")] == [("=", "/d")]
