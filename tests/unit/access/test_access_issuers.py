"""Tokens of issuers whose keys are published: signature, issuer, audience, time, rotation."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import jwt
import pytest

from aviso_core.errors import AccessUnavailable, SettingsError, Unauthorized
from aviso_http.access.key_ring import PAUSE_SECONDS, TRUSTED_SECONDS
from aviso_http.access.user import User
from support.access import Counted, known, opened, outcome
from support.event_logs import asynchronous
from support.http_server import BROKEN, HttpServer, answering, running_http_server, waiting_for
from support.registries import ManualClock
from support.tokens import (
    NOW,
    base64url,
    bearer,
    by_hand,
    edwards_pair,
    elliptic_pair,
    key_set,
    rsa_pair,
    shared_token,
)
from support.tokens import claims as shared_claims

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from aviso_http.access.base import Access

INVALID = (Unauthorized, "Invalid or expired token")
MISSING = (Unauthorized, "Token is missing required user claims")
DOWN = (AccessUnavailable, "Authentication service temporarily unavailable")

ISSUER = "https://id.example"
RSA, EC, ED = rsa_pair(), elliptic_pair(), edwards_pair()
STRANGER = rsa_pair()
KEYS = key_set(RSA, EC, ED)


def claims(**changes: object) -> dict[str, object]:
    """Return what a proper token says; a change to None leaves a claim out."""
    proper: dict[str, object] = {
        "iss": ISSUER,
        "aud": "aviso",
        "sub": "ann",
        "roles": ["reader"],
        "iat": NOW,
        "nbf": NOW,
        "exp": NOW + 3600,
    }
    return {name: value for name, value in (proper | changes).items() if value is not None}


def block(**changes: object) -> dict[str, object]:
    """Return an issuer of the configuration."""
    return {"issuer": ISSUER, "audience": "aviso", "realm": "staff", **changes}


@asynccontextmanager
async def published(
    keys: dict[str, Any] | None = None, counted: Counted | None = None, **changes: Any
) -> AsyncIterator[tuple[HttpServer, Access]]:
    """Open access that believes an issuer with these keys."""
    auth = changes.pop("auth", {})
    clock = changes.pop("clock", None)
    async with (
        running_http_server(answering(body=KEYS if keys is None else keys)) as server,
        opened(
            counted, clock=clock, issuers=[block(jwks_url=f"{server.url}/keys", **changes)], **auth
        ) as access,
    ):
        await server.wait_asked(1)
        yield server, access


@pytest.mark.parametrize("pair", [RSA, EC, ED], ids=lambda pair: pair.algorithm)
@pytest.mark.parametrize("named", [True, False])
@asynchronous
async def test_a_token_of_the_issuer_names_its_user(pair: Any, named: bool) -> None:
    async with published() as (_, access):
        token = pair.sign(claims(), kid="" if named else None)
        assert await known(access, bearer(token)) == User(
            name="ann", realm="staff", roles=("reader",), expires_at=NOW + 3600
        )


@asynchronous
async def test_tokens_of_the_mode_go_on_being_believed() -> None:
    async with published() as (_, access):
        assert (await known(access, bearer(shared_token()))).realm == "main"
        assert (await known(access, bearer(shared_token(shared_claims(iss="other"))))).realm == "main"
        assert await outcome(access, bearer(STRANGER.sign(claims(iss="https://other.example")))) == INVALID
        assert await access.identify(b"Basic YTpi") is None


@asynchronous
async def test_without_a_secret_only_the_issuer_is_believed() -> None:
    async with published(auth={"jwt_secret": None}) as (_, access):
        assert (await known(access, bearer(RSA.sign(claims())))).name == "ann"
        for secret in (b"", b"\0", b"None"):
            assert await outcome(access, bearer(by_hand(shared_claims(), secret=secret))) == INVALID
            assert await outcome(access, bearer(by_hand(claims(), secret=secret))) == INVALID


# --- what is refused -------------------------------------------------------------------------------------


def _public(pair: Any, encoding: str) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    if encoding == "jwk":
        return json.dumps(pair.published).encode()
    return bytes(
        pair.private.public_key().public_bytes(getattr(Encoding, encoding), PublicFormat.SubjectPublicKeyInfo)
    )


def _attacks() -> dict[str, str]:
    token = RSA.sign(claims())
    signed, _, signature = token.rpartition(".")
    header, payload = signed.split(".")
    operator = base64url(json.dumps(claims(roles=["operator"])).encode())
    hs256 = {"alg": "HS256", "kid": "rsa"}
    inside = {"jwk": STRANGER.published, "jku": "http://127.0.0.1:1/", "x5u": "http://127.0.0.1:1/"}
    return {
        "another key": STRANGER.sign(claims()),
        "another key under a known id": STRANGER.sign(claims(), kid="ed"),
        "another key that it brings along": jwt.encode(
            claims(), STRANGER.private, algorithm="RS256", headers={"kid": "new", **inside}
        ),
        "the right key under another's id": RSA.sign(claims(), kid="ec"),
        "other claims": f"{header}.{operator}.{signature}",
        "another header": f"{base64url(b'{}')}.{payload}.{signature}",
        "none": by_hand(claims(), header={"alg": "none", "kid": "rsa"}),
        "the shared secret": by_hand(claims()),
        "the shared secret under a key's id": by_hand(claims(), header=hs256),
        "HS256 with the public key (PEM)": by_hand(claims(), header=hs256, secret=_public(RSA, "PEM")),
        "HS256 with the public key (DER)": by_hand(claims(), header=hs256, secret=_public(RSA, "DER")),
        "HS256 with the public key (JWK)": by_hand(claims(), header=hs256, secret=_public(RSA, "jwk")),
        "HS256 with the modulus": by_hand(claims(), header=hs256, secret=RSA.published["n"]),
        "HMAC under the name of the key's algorithm": by_hand(
            claims(), header={"alg": "RS256", "kid": "rsa"}, secret=_public(RSA, "PEM")
        ),
        "PS256": jwt.encode(claims(), RSA.private, algorithm="PS256", headers={"kid": "rsa"}),
        "RS512": jwt.encode(claims(), RSA.private, algorithm="RS512", headers={"kid": "rsa"}),
        "ES256 with an RSA key's id": EC.sign(claims(), kid="rsa"),
        "a key id that is a path": RSA.sign(claims(), kid="../../../dev/null"),
        "a key id with a line end": RSA.sign(claims(), kid="rsa\n"),
        "a very long key id": RSA.sign(claims(), kid="r" * 10_000),
        "extensions": RSA.sign(claims(), crit=["x"], x=1),
        "no extensions, but a list of them": RSA.sign(claims(), crit=[]),
        "an unencoded payload": RSA.sign(claims(), crit=["b64"], b64=False),
        "a key id that is a number": by_hand(claims(), header={"alg": "RS256", "kid": 5}),
        "a token in a token": jwt.api_jws.encode(
            token.encode(), RSA.private, algorithm="RS256", headers={"kid": "rsa", "cty": "JWT"}
        ),
        "a claim that stands twice": jwt.api_jws.encode(
            json.dumps(claims())[:-1].encode() + b',"roles":["operator"]}',
            RSA.private,
            algorithm="RS256",
            headers={"kid": "rsa"},
        ),
        "padding": f"{token}=",
        "a trailing dot": f"{token}.",
        "zeroes for a signature": f"{EC.sign(claims()).rpartition('.')[0]}.{base64url(bytes(64))}",
        "another issuer": RSA.sign(claims(iss="https://id.example/")),
        "the issuer in capitals": RSA.sign(claims(iss="HTTPS://ID.EXAMPLE")),
        "no issuer": RSA.sign(claims(iss=None)),
        "several issuers": by_hand(claims(iss=[ISSUER])),
        "another audience": RSA.sign(claims(aud="other")),
        "other audiences": RSA.sign(claims(aud=["other", "aviso2"])),
        "no audience": RSA.sign(claims(aud=None)),
        "an empty audience": RSA.sign(claims(aud=[])),
        "an audience that holds ours": RSA.sign(claims(aud="aviso other")),
        "audiences that are not all texts": RSA.sign(claims(aud=["aviso", 5])),
        "no end": RSA.sign(claims(exp=None)),
        "an end that is text": RSA.sign(claims(exp=str(NOW + 60))),
        "an end that is true": RSA.sign(claims(exp=True)),
        "an end that is no whole number": RSA.sign(claims(exp=NOW + 60.5)),
        "an end that is a date as a float": RSA.sign(claims(exp=float(NOW + 60))),
        "an end before all time": RSA.sign(claims(exp=-1)),
        "a begin that is a float": RSA.sign(claims(nbf=float(NOW))),
        "a begin that is null": by_hand(claims() | {"nbf": None}, header={"alg": "RS256", "kid": "rsa"}),
        "an end that is huge": RSA.sign(claims(exp=10**25)),
        "a past end": RSA.sign(claims(exp=NOW - 61)),
        "a begin to come": RSA.sign(claims(nbf=NOW + 61)),
        "a begin that is text": RSA.sign(claims(nbf="0")),
        "an iat that is text": RSA.sign(claims(iat="0")),
        "roles that are text": RSA.sign(claims(roles="reader")),
        "a role that is none": RSA.sign(claims(roles=["reader", None])),
        "a name that is a number": by_hand(claims(sub=5)),
    }


ATTACKS = _attacks()


@pytest.mark.parametrize("attack", ATTACKS)
@asynchronous
async def test_a_token_that_is_not_the_issuers_is_refused(attack: str) -> None:
    counted = Counted()
    async with published(counted=counted) as (_, access):
        assert await outcome(access, bearer(ATTACKS[attack])) == INVALID
        assert await outcome(access, bearer(ATTACKS[attack]), admin=True) == INVALID
    assert counted == ["unauthorized"] * 2


@pytest.mark.parametrize(
    "content", [{"aud": ["other", "aviso"]}, {"exp": NOW - 60}, {"nbf": NOW + 60}, {"nbf": None}]
)
@asynchronous
async def test_what_is_within_the_rules_is_taken(content: dict[str, object]) -> None:
    async with published() as (_, access):
        token = RSA.sign({key: value for key, value in (claims() | content).items() if value is not None})
        assert (await known(access, bearer(token))).name == "ann"


@asynchronous
async def test_an_issuer_does_not_choose_the_realm_unless_it_may() -> None:
    """One who could would speak for the realm of the administrators too."""
    token = RSA.sign(claims(realm="main", roles=["operator"], tenant={"name": "north"}))
    async with published() as (_, access):
        user = await known(access, bearer(token))
        assert user.realm == "staff"
        assert not access.is_administrator(user)
    async with published(realm="", realm_claim="realm") as (_, access):
        assert access.is_administrator(await access.identify_administrator(bearer(token)))
    async with published(realm="", realm_claim="tenant.name") as (_, access):
        assert (await known(access, bearer(token))).realm == "north"
        assert await outcome(access, bearer(RSA.sign(claims(tenant={"name": 5})))) == INVALID
        assert (await known(access, bearer(RSA.sign(claims())))).realm is None


@asynchronous
async def test_claims_are_found_where_the_configuration_says() -> None:
    content = claims(
        preferred_username="bob", realm_access={"roles": ["a", "b"]}, **{"https://x.example/roles": ["c"]}
    )
    async with published(username_claim="preferred_username", roles_claim="realm_access.roles") as (
        _,
        access,
    ):
        user = await known(access, bearer(RSA.sign(content)))
        assert (user.name, user.roles) == ("bob", ("a", "b"))
        assert await outcome(access, bearer(RSA.sign(claims()))) == MISSING
        assert await outcome(access, bearer(RSA.sign(claims(preferred_username="")))) == MISSING
    async with published(roles_claim="https://x.example/roles") as (_, access):
        assert (await known(access, bearer(RSA.sign(content)))).roles == ("c",)
        assert (await known(access, bearer(RSA.sign(claims())))).roles == ()


# --- keys come and go ------------------------------------------------------------------------------------


@asynchronous
async def test_a_new_key_is_found_when_a_token_names_it() -> None:
    clock, fresh = ManualClock(), elliptic_pair("fresh")
    async with published(clock=clock) as (server, access):
        await known(access, bearer(RSA.sign(claims())))
        server.behaviour = answering(body=key_set(fresh))
        clock.advance(PAUSE_SECONDS)
        assert (await known(access, bearer(fresh.sign(claims())))).name == "ann"
        assert len(server.asked) == 2
        # The old one is gone with that, for every token that was not verified before.
        assert await outcome(access, bearer(RSA.sign(claims(sub="bob")))) == INVALID


@asynchronous
async def test_a_key_that_nobody_has_is_looked_for_rarely() -> None:
    clock = ManualClock()
    async with published(clock=clock) as (server, access):
        await known(access, bearer(RSA.sign(claims())))
        for period in range(3):
            for number in range(50):
                token = STRANGER.sign(claims(), kid=f"made up {number}")
                assert await outcome(access, bearer(token)) == INVALID
            assert len(server.asked) == 1 + period
            clock.advance(PAUSE_SECONDS)


@asynchronous
async def test_a_new_key_without_a_name_is_found_too() -> None:
    clock, fresh = ManualClock(), rsa_pair("fresh")
    async with published(clock=clock) as (server, access):
        await known(access, bearer(RSA.sign(claims())))
        server.behaviour = answering(body=key_set(fresh))
        clock.advance(PAUSE_SECONDS)
        assert (await known(access, bearer(fresh.sign(claims(), kid=None)))).name == "ann"


@asynchronous
async def test_many_who_come_with_a_new_key_make_one_look() -> None:
    clock, fresh, gate = ManualClock(), elliptic_pair("fresh"), asyncio.Event()
    async with published(clock=clock) as (server, access):
        await known(access, bearer(RSA.sign(claims())))
        server.behaviour = waiting_for(gate, answering(body=key_set(RSA, fresh)))
        clock.advance(PAUSE_SECONDS)
        names = [f"user {number}" for number in range(30)]
        asking = [
            asyncio.create_task(access.identify(bearer(fresh.sign(claims(sub=name))))) for name in names
        ]
        await server.wait_asked(2)
        # Whoever has a key that is known does not wait.
        assert (await known(access, bearer(RSA.sign(claims(sub="bob"))))).name == "bob"
        gate.set()
        assert [user.name for user in await asyncio.gather(*asking) if user] == names
        assert len(server.asked) == 2


@pytest.mark.parametrize("name", [*BROKEN, "has no keys", "has only a private key"])
@asynchronous
async def test_while_keys_cannot_be_had_nobody_passes_and_then_they_do(name: str) -> None:
    behaviours = BROKEN | {
        "has no keys": answering(body={"keys": []}),
        "has only a private key": answering(body={"keys": [RSA.published | {"d": "AQAB"}]}),
    }
    clock, counted = ManualClock(), Counted()
    token = bearer(RSA.sign(claims()))
    async with running_http_server(behaviours[name]) as server:
        issuer = block(jwks_url=server.url)
        async with opened(counted, clock=clock, timeout_ms=200, issuers=[issuer]) as access:
            assert await outcome(access, token) == DOWN
            assert (await known(access, bearer(shared_token()))).realm == "main"
            server.behaviour = answering(body=KEYS)
            clock.advance(PAUSE_SECONDS)
            assert (await known(access, token)).name == "ann"
    assert counted == ["service_unavailable", "success", "success"]


@asynchronous
async def test_keys_that_were_read_outlive_their_source_for_a_day() -> None:
    clock = ManualClock()
    async with published(clock=clock) as (server, access):
        await known(access, bearer(RSA.sign(claims())))
        server.behaviour = answering(500)
        clock.advance(TRUSTED_SECONDS - 1)
        late = claims(exp=NOW + 200_000)
        assert (await known(access, bearer(RSA.sign(late)))).name == "ann"
        # Whether there is such a key is not known now.
        assert await outcome(access, bearer(STRANGER.sign(late, kid="new"))) == DOWN
        clock.advance(2)
        assert await outcome(access, bearer(RSA.sign(late | {"sub": "bob"}))) == DOWN


@asynchronous
async def test_what_was_verified_is_verified_again_after_a_while() -> None:
    """So that a key which is withdrawn does not go on opening doors until its tokens end."""
    clock = ManualClock()
    token = bearer(RSA.sign(claims()))
    async with published(clock=clock, auth={"jwks_refresh_seconds": 100}) as (server, access):
        await known(access, token)
        server.behaviour = answering(body=key_set(EC))
        clock.advance(50)
        assert (await known(access, bearer(EC.sign(claims())))).name == "ann"
        assert await outcome(access, bearer(RSA.sign(claims(), kid="other"))) == INVALID
        assert (await known(access, token)).name == "ann"
        clock.advance(51)
        assert await outcome(access, token) == INVALID


@asynchronous
async def test_keys_come_from_a_file_too(tmp_path: Path) -> None:
    clock, path = ManualClock(), tmp_path / "keys.json"
    token = bearer(RSA.sign(claims()))
    async with opened(clock=clock, issuers=[block(jwks_file=str(path))]) as access:
        assert await outcome(access, token) == DOWN
        path.write_text(json.dumps(KEYS))
        clock.advance(PAUSE_SECONDS)
        assert (await known(access, token)).name == "ann"
        path.write_bytes(b" " * 2_000_000)
        clock.advance(PAUSE_SECONDS)
        assert await outcome(access, bearer(STRANGER.sign(claims(), kid="new"))) == DOWN


@asynchronous
async def test_several_issuers_have_each_their_own_keys(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    for path, pair in zip(paths, (RSA, EC), strict=True):
        path.write_text(json.dumps(key_set(pair)))
    issuers = [
        block(jwks_file=str(path), issuer=issuer, realm=issuer)
        for path, issuer in zip(paths, "ab", strict=True)
    ]
    async with opened(issuers=issuers) as access:
        assert (await known(access, bearer(RSA.sign(claims(iss="a"))))).realm == "a"
        assert (await known(access, bearer(EC.sign(claims(iss="b"))))).realm == "b"
        assert await outcome(access, bearer(RSA.sign(claims(iss="b")))) == INVALID
        assert await outcome(access, bearer(EC.sign(claims(iss="a")))) == INVALID


@asynchronous
async def test_in_direct_mode_the_issuers_tokens_are_not_shown_to_the_service() -> None:
    async with running_http_server(answering(body={"token": shared_token()})) as service:
        auth = {"mode": "direct", "auth_o_tron_url": service.url}
        async with published(auth=auth) as (_, access):
            assert (await known(access, bearer(RSA.sign(claims())))).realm == "staff"
            assert await outcome(access, bearer(STRANGER.sign(claims()))) == INVALID
            assert not service.asked
            for header in (b"Basic YTpi", b"Bearer opaque", bearer(RSA.sign(claims(iss="other")))):
                assert (await known(access, header)).realm == "main"
            assert len(service.asked) == 3


@asynchronous
async def test_a_configuration_of_no_use_is_refused_before_anything_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    path.write_text("no certificate")
    for issuer, at_fault in (
        (block(jwks_url="http://id.example"), "auth.issuers[0].jwks_url"),
        (block(), "auth.issuers[0].jwks_url"),
        (block(jwks_url="https://id.example", ca_file=str(path)), "auth.issuers[0].ca_file"),
        (block(jwks_url="https://id.example", ca_file=str(path) + "x"), "auth.issuers[0].ca_file"),
    ):
        with pytest.raises(SettingsError) as caught:
            async with opened(issuers=[issuer]):
                pass
        assert [fault.path for fault in caught.value.faults] == [at_fault]
        assert caught.value.faults[0].remedy
