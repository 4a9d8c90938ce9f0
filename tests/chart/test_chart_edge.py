"""The edge passes everything on as it comes: streams piece by piece, requests unread, tokens unseen."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

import pytest

from aviso_http.server import Patience
from chart.nginx import Block, parse
from chart.value_sets import SERVICES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from support.chart import Chart, Rendered

NAME: Final = "aviso-edge"
_TEMPORARY: Final = (
    *("client_body_temp_path", "proxy_temp_path", "fastcgi_temp_path", "uwsgi_temp_path", "scgi_temp_path"),
)


def configuration(release: Rendered) -> Block:
    return parse(release.one("ConfigMap", NAME)["data"]["nginx.conf"])


def http(release: Rendered) -> Block:
    (block,) = configuration(release).blocks("http")
    return block


def front(release: Rendered) -> Block:
    """Return the server that users talk to."""
    return next(one for one in http(release).blocks("server") if one.value("listen")[0] == "8080")


def seconds(block: Block, name: str) -> int:
    (word,) = block.value(name)
    return int(word.removesuffix("s"))


@pytest.fixture
def server(release: Rendered) -> Block:
    return front(release)


def test_nothing_of_an_answer_or_a_request_is_held_back(server: Block) -> None:
    """An event is there when it is sent, and a request is refused before all of it has come."""
    assert server.value("proxy_buffering") == ("off",)
    assert server.value("proxy_request_buffering") == ("off",)
    assert server.value("proxy_http_version") == ("1.1",)
    assert ("Connection", "") in server.values("proxy_set_header")
    # Compression would gather pieces until they are worth it.
    for block in (server, *server.blocks("location")):
        assert block.values("gzip") == block.values("proxy_cache") == []


@pytest.mark.parametrize("heartbeat", [1, 15, 600])
def test_a_quiet_stream_lives_on_its_heartbeats(chart: Chart, heartbeat: int) -> None:
    """Whatever the heartbeat is, several may be late before a stream is given up."""
    release = chart.render({"gateway": {"stream": {"heartbeatSeconds": heartbeat}}})
    assert seconds(front(release), "proxy_read_timeout") >= 4 * heartbeat


def test_no_request_is_sent_twice(server: Block) -> None:
    """Whether a notification was stored before its answer was lost, only its sender can find out."""
    assert server.value("proxy_next_upstream") == ("off",)


def test_a_path_goes_on_as_it_came(release: Rendered, server: Block) -> None:
    """Encoded as it was: what a segment is, only the service knows."""
    assert http(release).value("merge_slashes") == ("off",)
    for location in server.blocks("location"):
        for (to,) in location.values("proxy_pass"):
            assert re.fullmatch(r"http://(ingest|gateway|schema)", to)


def test_services_learn_who_asked(server: Block) -> None:
    """One hop of X-Forwarded-For, which is what the gateway is told to believe, and the host that was asked for."""
    headers = {name: value for name, value in server.values("proxy_set_header")}  # noqa: C416 (pairs for the types)
    assert headers == {
        "Connection": "",
        "Host": "$http_host",
        "X-Forwarded-For": "$proxy_add_x_forwarded_for",
        "X-Forwarded-Proto": "$scheme",
    }


def test_a_header_set_in_a_location_would_hide_all_others(server: Block) -> None:
    """Nginx inherits them only where there is none of a location's own."""
    assert [one.words for one in server.blocks("location") if one.values("proxy_set_header")] == []


def test_requests_are_refused_by_whom_they_are_for(chart: Chart) -> None:
    """The edge lets more through than ingest takes, so that it is ingest that says how much that is."""
    release = chart.render({"ingest": {"batch": {"maxBytes": 64 * 1024 * 1024}}})
    sizes = {
        one.words[-1]: int(one.value("client_max_body_size")[0])
        for one in front(release).blocks("location")
        if one.values("client_max_body_size")
    }
    assert sizes["/api/v1/notifications"] == 2 * 64 * 1024 * 1024
    assert set(sizes.values()) == {2 * 64 * 1024 * 1024}


def test_its_own_refusals_look_like_those_of_the_services(server: Block) -> None:
    """JSON with a code, and when to come again where that helps."""
    own = {one.words[0]: one for one in server.blocks("location") if one.words[0].startswith("@")}
    codes = {}
    for name, block in own.items():
        status, body = block.value("return")
        codes[name] = (int(status), json.loads(body)["code"])
    assert codes == {"@too-large": (413, "PAYLOAD_TOO_LARGE"), "@away": (503, "SERVICE_UNAVAILABLE")}
    assert own["@away"].value("add_header") == ("Retry-After", "1", "always")
    assert {words[-1] for words in server.values("error_page")} == set(own)


def test_it_leads_to_the_services_of_its_release(releases: Mapping[str, Rendered]) -> None:
    """By their own ports, over connections that it keeps for less long than they do."""
    release = releases["nothing given"]
    upstreams = {one.words[0]: one for one in http(release).blocks("upstream")}
    assert set(upstreams) == set(SERVICES)
    for service, upstream in upstreams.items():
        assert upstream.value("server")[0] == f"aviso-{service}:80"
        assert release.one("Service", f"aviso-{service}")["spec"]["ports"][0]["port"] == 80
        # Were it the service that closes, a request could be on its way just then.
        assert seconds(upstream, "keepalive_timeout") < Patience().keep_alive


def test_it_may_have_as_many_connections_as_it_is_told(releases: Mapping[str, Rendered]) -> None:
    """Each is a file, and there are a few more."""
    whole = configuration(releases["nothing given"])
    (events,) = whole.blocks("events")
    assert int(whole.value("worker_rlimit_nofile")[0]) > int(events.value("worker_connections")[0]) == 16384


def test_it_writes_where_it_may(release: Rendered) -> None:
    """Everything but /tmp is read only."""
    paths = [
        *configuration(release).values("pid"),
        *(words for name in _TEMPORARY for words in http(release).values(name)),
    ]
    assert len(paths) == 1 + len(_TEMPORARY)
    assert [path for (path,) in paths if not path.startswith("/tmp/")] == []  # noqa: S108 (a volume of its own)


def test_requests_are_logged_without_what_is_nobodys_business(releases: Mapping[str, Rendered]) -> None:
    """Off by default; on, it is the path and no query, no header and no body."""
    assert http(releases["nothing given"]).value("access_log") == ("off",)
    logging = http(releases["an edge on every node"])
    assert logging.value("access_log") == ("/dev/stdout", "paths")
    (form,) = logging.values("log_format")
    for told in ("$request ", "$request_uri", "$args", "$query_string", "$http_", "$request_body"):
        assert told not in f"{' '.join(form)} "


def test_it_ends_after_what_goes_through_it(releases: Mapping[str, Rendered]) -> None:
    """Nginx is asked to end in good order, and has longer for it than streams get."""
    for name, drain in (("nothing given", 30), ("an edge on every node", 60)):
        release = releases[name]
        container = release.container("Deployment", NAME)
        _, _, script = container["lifecycle"]["preStop"]["exec"]["command"]
        match = re.fullmatch(r"sleep (\d+); kill -QUIT 1; sleep (\d+)", script)
        assert match
        before, after = map(int, match.groups())
        assert after > drain == seconds(configuration(release), "worker_shutdown_timeout")
        spec = release.one("Deployment", NAME)["spec"]["template"]["spec"]
        assert spec["terminationGracePeriodSeconds"] >= before + after


def test_it_is_asked_for_its_health_apart_from_its_users(release: Rendered) -> None:
    """Ready is what it says of itself: with no service behind it, it still has to say so."""
    container = release.container("Deployment", NAME)
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"] == {"path": "/healthz", "port": "health"}
    health = next(
        one for one in http(release).blocks("server") if one.value("listen")[0] == str(ports["health"])
    )
    assert health.blocks("location")[0].words == ("=", "/healthz")
    assert ports["http"] == 8080


def test_it_is_reached_as_its_values_say(releases: Mapping[str, Rendered]) -> None:
    port = releases["an edge on every node"].one("Service", "aviso")["spec"]
    assert port["type"] == "NodePort"
    assert port["ports"] == [
        {"name": "http", "port": 8080, "targetPort": "http", "appProtocol": "http", "nodePort": 30080}
    ]
