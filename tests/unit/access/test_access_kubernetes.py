"""Tokens of a cluster's service accounts: verified by the cluster's keys, by asking the cluster, or by both."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from aviso_core.errors import AccessUnavailable, SettingsError, Unauthorized, Unavailable
from aviso_http.access.key_ring import PAUSE_SECONDS
from aviso_http.access.key_sources import PublishedKeys
from aviso_http.access.user import User
from support.access import Counted, known, opened, outcome
from support.certificates import authority, write_certificate
from support.event_logs import asynchronous
from support.http_server import BROKEN, Behaviour, HttpServer, answering, running_http_server
from support.registries import ManualClock
from support.tokens import NOW, bearer, elliptic_pair, key_set, rsa_pair, shared_token

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from aviso_http.access.base import Access

INVALID = (Unauthorized, "Invalid or expired token")
DOWN = (AccessUnavailable, "Authentication service temporarily unavailable")
CLUSTER = "https://kubernetes.default.svc.cluster.local"
KEY, STRANGER = rsa_pair("cluster"), rsa_pair("cluster")
KEYS = json.dumps(key_set(KEY)).encode()
BEARER = "the-service-s-own"


def account(namespace: Any = "weather", name: Any = "job", **details: Any) -> dict[str, Any]:
    """Return what a token says of its account, which it says twice."""
    said = {"namespace": namespace, "serviceaccount": {"name": name, "uid": "1"}} | details
    return {"sub": f"system:serviceaccount:{namespace}:{name}", "kubernetes.io": said}


def claims(**changes: object) -> dict[str, object]:
    """Return what a projected token says; a change to None leaves a claim out."""
    proper: dict[str, object] = {
        "iss": CLUSTER,
        "aud": ["aviso"],
        "iat": NOW,
        "nbf": NOW,
        "exp": NOW + 3600,
        "jti": "b3e0",
        **account(pod={"name": "job-x7", "uid": "2"}, node={"name": "node-1"}),
    }
    return {name: value for name, value in (proper | changes).items() if value is not None}


TOKEN = KEY.sign(claims())
JOB = User(
    name="system:serviceaccount:weather:job",
    realm="kubernetes",
    roles=("weather", "weather:job"),
    attributes={"namespace": "weather", "service_account": "job", "pod": "job-x7"},
    expires_at=NOW + 3600,
)


@asynccontextmanager
async def believing(
    path: Path, counted: Counted | None = None, *, clock: ManualClock | None = None, **changes: Any
) -> AsyncIterator[Access]:
    """Open access that knows the cluster's keys from a file."""
    keys = path / "keys.json"
    keys.write_bytes(KEYS)
    block = {"enabled": True, "issuer": CLUSTER, "jwks_file": str(keys)} | changes
    async with opened(counted, clock=clock, kubernetes=block) as access:
        yield access


# --- who an account is here ------------------------------------------------------------------------------


@asynchronous
async def test_an_account_is_a_user_with_its_namespace_and_itself_for_roles(tmp_path: Path) -> None:
    async with believing(tmp_path) as access:
        assert await known(access, bearer(TOKEN)) == JOB
        unbound = KEY.sign(claims(**account()))
        assert (await known(access, bearer(unbound))).attributes == {
            "namespace": "weather",
            "service_account": "job",
        }
        # What the mode believes goes on being believed.
        assert (await known(access, bearer(shared_token()))).realm == "main"


@asynchronous
async def test_only_the_configured_account_administers(tmp_path: Path) -> None:
    """The roles of administrators in the tests name `aviso:operator`."""
    async with believing(tmp_path) as access:
        for namespace, name, administers in (
            ("aviso", "operator", True),
            ("aviso", "job", False),
            ("operator", "aviso", False),
            ("weather", "operator", False),
        ):
            user = await known(access, bearer(KEY.sign(claims(**account(namespace, name)))))
            assert access.is_administrator(user) == administers


@asynchronous
async def test_an_account_chooses_neither_realm_nor_roles(tmp_path: Path) -> None:
    token = KEY.sign(claims(realm="main", roles=["operator"], username="root", attributes={"a": "b"}))
    async with believing(tmp_path) as access:
        assert await known(access, bearer(token)) == JOB
    async with believing(tmp_path, realm="pods") as access:
        assert (await known(access, bearer(TOKEN))).realm == "pods"


# --- what is refused -------------------------------------------------------------------------------------

LONG = "a" * 64
REFUSED: dict[str, dict[str, Any]] = {
    "another audience": {"aud": ["https://kubernetes.default.svc"]},
    "no audience": {"aud": None},
    "another issuer's": {"iss": "https://kubernetes.default.svc"},
    "no end": {"exp": None},
    "a past end": {"exp": NOW - 61},
    "a begin to come": {"nbf": NOW + 61},
    "a user's": {"sub": "ann"},
    "a node's": {"sub": "system:node:weather:job"},
    "no subject": {"sub": None},
    "a subject that is a list": {"sub": ["system:serviceaccount:weather:job"]},
    "no details": {"kubernetes.io": None},
    "details that are text": {"kubernetes.io": "weather"},
    "details of another namespace": {"sub": "system:serviceaccount:aviso:job"},
    "details of another account": {"sub": "system:serviceaccount:weather:operator"},
    "details without an account": {"kubernetes.io": {"namespace": "weather"}},
    "an account that is text": {"kubernetes.io": {"namespace": "weather", "serviceaccount": "job"}},
    "a third part": {"sub": "system:serviceaccount:weather:job:x"},
    "a colon in the account": account("weather", "job:x"),
    "a namespace with a colon": account("aviso:operator", "x"),
    "a namespace that is the star": account("*", "job"),
    "an empty namespace": account("", "job"),
    "an empty account": account("weather", ""),
    "a namespace in capitals": account("Weather", "job"),
    "a namespace with a blank": account("weather ", "job"),
    "an account with a line end": account("weather", "job\n"),
    "letters that look alike": account("wеather", "job"),
    "digits of another script": account("weather", "job١"),
    "a very long namespace": account(LONG, "job"),
    "a very long account": account("weather", ".".join([LONG[:60]] * 8)),
    "a token of the old kind": {
        "aud": None,
        "exp": None,
        "iss": "kubernetes/serviceaccount",
        "kubernetes.io": None,
        "kubernetes.io/serviceaccount/namespace": "weather",
        "kubernetes.io/serviceaccount/service-account.name": "job",
    },
}


@pytest.mark.parametrize("name", REFUSED)
@asynchronous
async def test_a_token_that_is_not_an_accounts_for_us_is_refused(name: str, tmp_path: Path) -> None:
    counted = Counted()
    token = bearer(KEY.sign(claims(**REFUSED[name])))
    async with believing(tmp_path, counted) as access:
        assert await outcome(access, token) == INVALID
        assert await outcome(access, token, admin=True) == INVALID
    assert counted == ["unauthorized"] * 2


@asynchronous
async def test_a_token_that_somebody_else_signed_is_refused(tmp_path: Path) -> None:
    async with believing(tmp_path) as access:
        for token in (
            STRANGER.sign(claims()),
            STRANGER.sign(claims(), kid="other"),
            STRANGER.sign(claims(), kid=None),
            shared_token(claims()),
            elliptic_pair("cluster").sign(claims()),
        ):
            assert await outcome(access, bearer(token)) == INVALID


# --- where the keys come from ----------------------------------------------------------------------------


@asynchronous
async def test_keys_come_from_an_address_too(tmp_path: Path) -> None:
    certificate, trusted = tmp_path / "served.pem", tmp_path / "ca.pem"
    signer = authority()
    write_certificate(certificate, signer, "127.0.0.1")
    trusted.write_bytes(signer.pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    async with running_http_server(answering(body=KEYS), tls=context) as server:
        block = {"enabled": True, "issuer": CLUSTER, "jwks_url": f"{server.url}/openid/v1/jwks"}
        async with opened(kubernetes=block | {"ca_file": str(trusted)}) as access:
            assert await known(access, bearer(TOKEN)) == JOB
        assert server.asked[0].target == "/openid/v1/jwks"
        async with opened(kubernetes=block) as access:
            assert await outcome(access, bearer(TOKEN)) == DOWN


class Publisher:
    """A registry's part: it publishes the cluster's keys, once it has them."""

    def __init__(self) -> None:
        self.keys: PublishedKeys | None = None
        self.asked = 0

    async def load(self) -> PublishedKeys:
        """Return the keys, or raise that they cannot be had."""
        self.asked += 1
        if self.keys is None:
            raise Unavailable("the registry cannot be reached")
        return self.keys


@asynchronous
async def test_keys_and_issuer_come_from_the_registry() -> None:
    clock, publisher = ManualClock(), Publisher()
    async with opened(clock=clock, cluster_keys=publisher.load, kubernetes={"enabled": True}) as access:
        # Whose token it is cannot be told, so it is neither good nor bad.
        assert await outcome(access, bearer(TOKEN)) == DOWN
        assert (await known(access, bearer(shared_token()))).realm == "main"
        publisher.keys = PublishedKeys(KEYS, CLUSTER)
        clock.advance(PAUSE_SECONDS)
        assert await known(access, bearer(TOKEN)) == JOB
        assert await outcome(access, bearer(KEY.sign(claims(iss="https://other")))) == INVALID


@asynchronous
async def test_keys_that_the_registry_replaces_are_followed() -> None:
    clock, publisher, fresh = ManualClock(), Publisher(), elliptic_pair("fresh")
    publisher.keys = PublishedKeys(KEYS, CLUSTER)
    async with opened(clock=clock, cluster_keys=publisher.load, kubernetes={"enabled": True}) as access:
        assert await known(access, bearer(TOKEN)) == JOB
        publisher.keys = PublishedKeys(json.dumps(key_set(fresh)).encode(), CLUSTER)
        clock.advance(PAUSE_SECONDS)
        assert await known(access, bearer(fresh.sign(claims()))) == JOB
        # While the registry is away the keys that are there go on being used.
        publisher.keys = None
        clock.advance(PAUSE_SECONDS)
        assert await known(access, bearer(fresh.sign(claims(jti="other")))) == JOB


@asynchronous
async def test_a_configured_issuer_stands_above_what_the_registry_says() -> None:
    publisher = Publisher()
    publisher.keys = PublishedKeys(KEYS, "https://other")
    block = {"enabled": True, "issuer": CLUSTER}
    async with opened(cluster_keys=publisher.load, kubernetes=block) as access:
        assert await known(access, bearer(TOKEN)) == JOB
        assert await outcome(access, bearer(KEY.sign(claims(iss="https://other")))) == INVALID


@asynchronous
async def test_configured_keys_are_used_instead_of_the_registrys(tmp_path: Path) -> None:
    publisher = Publisher()
    keys = tmp_path / "keys.json"
    keys.write_bytes(KEYS)
    block = {"enabled": True, "issuer": CLUSTER, "jwks_file": str(keys)}
    async with opened(cluster_keys=publisher.load, kubernetes=block) as access:
        assert await known(access, bearer(TOKEN)) == JOB
    assert publisher.asked == 0


@pytest.mark.parametrize(
    ("block", "path"),
    [
        ({}, "auth.kubernetes"),
        ({"issuer": CLUSTER}, "auth.kubernetes"),
        ({"review": {"bearer_file": "/token", "ca_file": ""}}, "auth.kubernetes.issuer"),
        ({"review": {"bearer_file": "/token", "ca_file": "/not/there"}}, "auth.kubernetes.review.ca_file"),
    ],
)
@asynchronous
async def test_without_anything_to_verify_by_the_service_does_not_start(
    block: dict[str, Any], path: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        async with opened(kubernetes={"enabled": True} | block):
            pass
    (fault,) = caught.value.faults
    assert fault.path == path
    assert fault.remedy


# --- asking the cluster ----------------------------------------------------------------------------------


def reviewed(status: int = 201, **changes: Any) -> Behaviour:
    """Answer as the cluster does about a token of its own; a change to None leaves a member out."""
    proper = {"authenticated": True, "user": {"username": JOB.name, "uid": "1"}, "audiences": ["aviso"]}
    said = {name: value for name, value in (proper | changes).items() if value is not None}
    return answering(status, {"kind": "TokenReview", "status": said})


@asynccontextmanager
async def asking(
    path: Path, behaviour: Behaviour, counted: Counted | None = None, **changes: Any
) -> AsyncIterator[tuple[HttpServer, Access, ManualClock]]:
    """Open access that asks a cluster which behaves like this, and knows no keys of it."""
    bearer_file, clock = path / "token", ManualClock()
    bearer_file.write_text(f"{BEARER}\n")
    async with running_http_server(behaviour) as server:
        review = {"bearer_file": str(bearer_file), "url": server.url, "ca_file": "", "cache_seconds": 60}
        timeout_ms = changes.pop("timeout_ms", 2000)
        kubernetes = {"enabled": True, "issuer": CLUSTER, "review": review | changes.pop("review", {})}
        async with opened(
            counted, clock=clock, timeout_ms=timeout_ms, kubernetes=kubernetes | changes
        ) as access:
            yield server, access, clock


@asynchronous
async def test_the_cluster_is_asked_with_our_own_token_and_for_our_audience(tmp_path: Path) -> None:
    async with asking(tmp_path, reviewed()) as (server, access, _):
        assert await known(access, bearer(TOKEN)) == JOB
    (asked,) = server.asked
    assert (asked.method, asked.target) == ("POST", "/apis/authentication.k8s.io/v1/tokenreviews")
    assert asked.headers["authorization"] == f"Bearer {BEARER}"
    assert json.loads(asked.body) == {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "spec": {"token": TOKEN, "audiences": ["aviso"]},
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"authenticated": False},
        {"authenticated": None},
        {"authenticated": False, "error": "the pod is gone"},
        {"user": {"username": "system:serviceaccount:weather:other"}},
        {"user": {"username": ""}},
        {"user": None},
        {"audiences": ["other"]},
        {"audiences": []},
        {"audiences": None},
    ],
)
@asynchronous
async def test_a_yes_to_something_else_is_a_no(changes: dict[str, Any], tmp_path: Path) -> None:
    counted = Counted()
    async with asking(tmp_path, reviewed(**changes), counted) as (_, access, _):
        assert await outcome(access, bearer(TOKEN)) == INVALID
    assert counted == ["unauthorized"]


UNCLEAR: dict[str, Behaviour] = BROKEN | {
    "does not let us ask": reviewed(403),
    "does not know us": reviewed(401),
    "accepts and does not answer": reviewed(202),
    "answers with text": answering(200, b"yes"),
    "answers without a status": answering(200, {"kind": "TokenReview"}),
    "says yes in another type": reviewed(200, authenticated="true"),
    "names a user in another type": reviewed(200, user=JOB.name),
}


@pytest.mark.parametrize("name", UNCLEAR)
@asynchronous
async def test_a_cluster_that_does_not_say_lets_nobody_in(name: str, tmp_path: Path) -> None:
    async with asking(tmp_path, UNCLEAR[name], timeout_ms=300) as (server, access, _):
        assert await outcome(access, bearer(TOKEN)) == DOWN
        server.behaviour = reviewed()
        assert await known(access, bearer(TOKEN)) == JOB


@pytest.mark.parametrize(
    "token",
    [
        shared_token(),
        KEY.sign(claims(aud=["other"])),
        KEY.sign(claims(exp=NOW - 61)),
        KEY.sign(claims(sub="ann")),
        KEY.sign(claims(iss="https://other")),
    ],
    ids=["shared", "audience", "expired", "user", "issuer"],
)
@asynchronous
async def test_the_cluster_is_shown_no_token_that_is_not_its_own_and_for_us(
    token: str, tmp_path: Path
) -> None:
    async with asking(tmp_path, reviewed()) as (server, access, _):
        await outcome(access, bearer(token))
        assert not server.asked


@asynchronous
async def test_with_keys_only_what_they_have_signed_is_shown_to_the_cluster(tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    keys.write_bytes(KEYS)
    async with asking(tmp_path, reviewed(), jwks_file=str(keys)) as (server, access, _):
        assert await outcome(access, bearer(STRANGER.sign(claims()))) == INVALID
        assert not server.asked
        assert await known(access, bearer(TOKEN)) == JOB
        server.behaviour = reviewed(authenticated=False)
        assert await outcome(access, bearer(KEY.sign(claims(jti="other")))) == INVALID


@asynchronous
async def test_an_answer_holds_for_as_long_as_is_configured(tmp_path: Path) -> None:
    async with asking(tmp_path, reviewed()) as (server, access, clock):
        await known(access, bearer(TOKEN))
        server.behaviour = reviewed(authenticated=False)
        clock.advance(60)
        assert await known(access, bearer(TOKEN)) == JOB
        clock.advance(1)
        assert await outcome(access, bearer(TOKEN)) == INVALID
    async with asking(tmp_path, reviewed(), review={"cache_seconds": 0}) as (server, access, _):
        await known(access, bearer(TOKEN))
        server.behaviour = reviewed(authenticated=False)
        assert await outcome(access, bearer(TOKEN)) == INVALID


@asynchronous
async def test_our_own_token_is_read_anew_for_every_question(tmp_path: Path) -> None:
    """The cluster replaces the file; where it cannot be read nobody can be asked about."""
    async with asking(tmp_path, reviewed(), review={"cache_seconds": 0}) as (server, access, _):
        await known(access, bearer(TOKEN))
        path = tmp_path / "token"
        for content in (b"", b"\xff", b"a\nb", b"x" * 100_000):
            path.write_bytes(content)
            assert await outcome(access, bearer(TOKEN)) == DOWN
        path.unlink()
        assert await outcome(access, bearer(TOKEN)) == DOWN
        path.write_text("another-one")
        await known(access, bearer(TOKEN))
    assert [asked.headers["authorization"] for asked in server.asked] == [
        f"Bearer {BEARER}",
        "Bearer another-one",
    ]


@asynchronous
async def test_nothing_secret_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with asking(tmp_path, answering(500, {"status": {"error": TOKEN}})) as (_, access, _):
        assert await outcome(access, bearer(TOKEN)) == DOWN
        assert BEARER not in repr(vars(access))
    shown = caplog.text + str([vars(record) for record in caplog.records])
    assert "answered with status 500" in shown
    assert BEARER not in shown
    assert TOKEN not in shown


@asynchronous
async def test_many_questions_at_once_are_each_their_own(tmp_path: Path) -> None:
    """The answer to one account is never taken for another's."""

    async def answer_by_token(asked: Any, writer: asyncio.StreamWriter) -> None:
        token = json.loads(asked.body)["spec"]["token"]
        await reviewed(user={"username": names[token]})(asked, writer)

    tokens = [KEY.sign(claims(**account("weather", f"job-{number}"))) for number in range(40)]
    names = {token: f"system:serviceaccount:weather:job-{number}" for number, token in enumerate(tokens)}
    async with asking(tmp_path, answer_by_token) as (_, access, _):
        users = await asyncio.gather(*(access.identify(bearer(token)) for token in tokens))
    assert [user.name for user in users if user] == list(names.values())
