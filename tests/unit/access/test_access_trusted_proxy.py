"""Tokens of the shared secret: contract 10.1 and 10.2 for `trusted_proxy`."""

from __future__ import annotations

import jwt
import pytest

from aviso_core.errors import Forbidden, Unauthorized
from aviso_http.access.user import User
from support.access import Counted, known, opened, outcome
from support.event_logs import asynchronous
from support.registries import ManualClock
from support.tokens import NOW, SECRET, base64url, bearer, by_hand, claims, rsa_pair, shared_token

INVALID = (Unauthorized, "Invalid or expired token")
MISSING = (Unauthorized, "Token is missing required user claims")
NOT_BEARER = (Unauthorized, "Authorization header must use Bearer token")
NOT_ADMIN = (Forbidden, "User does not have required administrative role")

PROPER = shared_token()
HEADER, PAYLOAD, SIGNATURE = PROPER.split(".")


@asynchronous
async def test_a_proper_token_names_its_user() -> None:
    token = shared_token(claims(attributes={"team": "ops"}))
    async with opened() as access:
        assert not access.is_open
        assert access.challenges == (b"Bearer",)
        assert await known(access, bearer(token)) == User(
            name="ann", realm="main", roles=("reader",), attributes={"team": "ops"}, expires_at=NOW + 3600
        )


@asynchronous
async def test_nobody_in_particular_may_ask() -> None:
    counted = Counted()
    async with opened(counted) as access:
        assert await access.identify(None) is None
    assert counted == []


@pytest.mark.parametrize(
    "header", [b"", b"Bearer", b"Basic YTpi", b"Digest x", b"Bearer a b", b"\xff", b"Bearer a, Bearer b"]
)
@asynchronous
async def test_a_header_of_no_use_is_nobody_but_not_for_administration(header: bytes) -> None:
    counted = Counted()
    async with opened(counted) as access:
        assert await access.identify(header) is None
        assert counted == []
        assert await outcome(access, header, admin=True) == NOT_BEARER
        assert counted == ["unauthorized"]


@asynchronous
async def test_administration_asks_for_an_administrator() -> None:
    counted = Counted()
    async with opened(counted) as access:
        required = (Unauthorized, "Authorization header is required")
        assert await outcome(access, None, admin=True) == required
        assert await outcome(access, bearer(PROPER), admin=True) == NOT_ADMIN
        assert await outcome(access, bearer("garbage"), admin=True) == INVALID
        operator = bearer(shared_token(claims(roles=["operator"])))
        user = await access.identify_administrator(operator)
        assert access.is_administrator(user)
        assert not access.is_administrator(await access.identify(bearer(PROPER)))
        assert not access.is_administrator(None)
    assert counted == ["unauthorized", "forbidden", "unauthorized", "success", "success"]


# --- claims ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"sub": "ann", "username": "bob"}, "bob"),
        ({"sub": "ann", "username": None}, "ann"),
        ({"sub": None, "username": "bob"}, "bob"),
        ({"sub": "ann", "username": ""}, "ann"),
        ({"username": "ßñ😀"}, "ßñ😀"),
    ],
)
@asynchronous
async def test_the_name_is_the_username_or_else_the_subject(changes: dict[str, object], name: str) -> None:
    async with opened() as access:
        assert (await known(access, bearer(shared_token(claims(**changes))))).name == name


@pytest.mark.parametrize("changes", [{"sub": None, "username": None}, {"sub": "", "username": ""}])
@asynchronous
async def test_a_token_without_a_name_is_refused(changes: dict[str, object]) -> None:
    """An empty name is none: whoever looks an empty name up elsewhere may find everybody."""
    async with opened() as access:
        token = by_hand(claims(**changes))
        assert await outcome(access, bearer(token)) == MISSING
        assert await outcome(access, bearer(token), admin=True) == MISSING


@pytest.mark.parametrize(
    "content",
    [
        {"nbf": NOW + 9999},
        {"nbf": "whenever"},
        {"aud": "another service"},
        {"iss": "anybody"},
        {"role": "reader"},
        {"jti": 5, "scope": ["x"], "nested": {"a": [1, None, 1.5]}},
        {"exp": NOW - 60},
        {"exp": 2**64 - 1},
        {"iat": NOW + 9999},
    ],
)
@asynchronous
async def test_what_the_contract_does_not_check_is_not_checked(content: dict[str, object]) -> None:
    async with opened() as access:
        assert (await known(access, bearer(by_hand(claims(**content))))).name == "ann"


@asynchronous
async def test_an_optional_claim_may_be_null() -> None:
    async with opened() as access:
        token = by_hand(claims() | {"username": None, "realm": None, "iss": None, "iat": None})
        user = await known(access, bearer(token))
        assert (user.name, user.realm) == ("ann", None)


# `exp` as a number that is a date and still not taken, because it is past or beyond what can be counted, is here too.
WRONG_VALUES: dict[str, list[object]] = {
    "exp": [None, True, False, 1e12, float(NOW + 60), "2000", [2000], {}, -1, 2**64, 10**30, NOW - 61, 0],
    "iat": [True, 1.5, "1", -1, [], 2**64],
    "iss": [5, ["a"], {}, False],
    "sub": [5, ["a"], {}, True],
    "username": [5, ["a"], {}, False],
    "realm": [5, ["main"], {}, True],
    "roles": ["reader", None, {"a": "b"}, [5], [None], ["reader", 5], [["reader"]], 7],
    "attributes": ["x", None, [], {"a": 5}, {"a": None}, {"a": ["b"]}],
}


@pytest.mark.parametrize(
    "content", [{claim: value} for claim, values in WRONG_VALUES.items() for value in values]
)
@asynchronous
async def test_a_claim_of_another_type_makes_the_token_invalid(content: dict[str, object]) -> None:
    async with opened() as access:
        assert await outcome(access, bearer(by_hand(claims() | content))) == INVALID


@asynchronous
async def test_without_an_end_a_token_is_invalid() -> None:
    async with opened() as access:
        assert await outcome(access, bearer(by_hand(claims(exp=None)))) == INVALID


@pytest.mark.parametrize(
    "payload",
    [
        b'{"sub":"ann","exp":2000,"exp":9999}',
        b'{"sub":"ann","sub":"root","exp":2000}',
        b'{"sub":"ann","exp":2000,"roles":["reader"],"roles":["operator"]}',
        b'{"sub":"ann","exp":2000,"r\\u006fles":["operator"],"roles":["reader"]}',
        b'{"sub":"ann","exp":2000,"attributes":{"a":"1","a":"2"}}',
    ],
)
@asynchronous
async def test_a_claim_that_stands_twice_makes_the_token_invalid(payload: bytes) -> None:
    async with opened() as access:
        assert await outcome(access, bearer(by_hand(payload))) == INVALID


# --- signatures ------------------------------------------------------------------------------------------


def _attacks() -> dict[str, str]:
    unsigned = base64url(b'{"alg":"none"}') + "." + PAYLOAD
    other_claims = by_hand(claims(roles=["operator"])).split(".")[1]
    private = rsa_pair()
    public = private.private.public_key()
    return {
        "garbage": "garbage",
        "another secret": shared_token(secret="another secret that is long enough for it"),
        "an empty secret": by_hand(claims(), secret=b""),
        "a secret with a line end": by_hand(claims(), secret=SECRET + "\n"),
        "none without signature": f"{unsigned}.",
        "none with a signature": by_hand(claims(), header={"alg": "none"}),
        "none in other letters": by_hand(claims(), header={"alg": "nOnE"}),
        "none with the old signature": f"{unsigned}.{SIGNATURE}",
        "no algorithm": by_hand(claims(), header={"typ": "JWT"}),
        "the algorithm in small letters": by_hand(claims(), header={"alg": "hs256"}),
        "HS384": by_hand(claims(), header={"alg": "HS384"}, digest="sha384"),
        "HS512": by_hand(claims(), header={"alg": "HS512"}, digest="sha512"),
        "a longer digest under the right name": by_hand(claims(), digest="sha512"),
        "RS256": private.sign(claims()),
        "the name RS256": by_hand(claims(), header={"alg": "RS256"}),
        "signed with a public key": by_hand(
            claims(), secret=jwt.algorithms.RSAAlgorithm.to_jwk(public), header={"alg": "HS256"}
        ),
        "a key of its own": by_hand(
            claims(), secret=b"k", header={"alg": "HS256", "jwk": {"kty": "oct", "k": base64url(b"k")}}
        ),
        "a key id that is a path": by_hand(claims(), secret=b"", header={"alg": "HS256", "kid": "/dev/null"}),
        "a key id that is a query": by_hand(
            claims(), secret=b"", header={"alg": "HS256", "kid": "' UNION SELECT ''"}
        ),
        "a key elsewhere": by_hand(
            claims(),
            secret=b"k",
            header={"alg": "HS256", "jku": "http://127.0.0.1:1/k", "x5u": "http://127.0.0.1:1"},
        ),
        "other claims": f"{HEADER}.{other_claims}.{SIGNATURE}",
        "another header": base64url(b'{"alg": "HS256", "typ": "jwt"}') + f".{PAYLOAD}.{SIGNATURE}",
        "a shorter signature": f"{HEADER}.{PAYLOAD}.{SIGNATURE[:-4]}",
        "an empty signature": f"{HEADER}.{PAYLOAD}.",
        "a trailing dot": f"{PROPER}.",
        "a leading dot": f".{PROPER}",
        "a fourth part": f"{PROPER}.{SIGNATURE}",
        "padding": f"{PROPER}=",
        "extensions": by_hand(claims(), header={"alg": "HS256", "crit": ["x"], "x": 1}),
        "an unencoded payload": by_hand(claims(), header={"alg": "HS256", "b64": False, "crit": ["b64"]}),
        "an encrypted token": "a.b.c.d.e",
        "very long": by_hand(claims(filler="x" * 20_000)),
        "expired": shared_token(claims(exp=NOW - 61)),
    }


ATTACKS = _attacks()


@pytest.mark.parametrize("attack", ATTACKS)
@asynchronous
async def test_a_token_that_is_not_ours_is_refused(attack: str) -> None:
    """Also on event types that are open to anybody: somebody who shows a false pass is not let in without one."""
    counted = Counted()
    async with opened(counted) as access:
        assert await outcome(access, bearer(ATTACKS[attack])) == INVALID
        assert await outcome(access, bearer(ATTACKS[attack]), admin=True) == INVALID
    assert counted == ["unauthorized", "unauthorized"]


@asynchronous
async def test_a_key_id_means_nothing_to_the_shared_secret() -> None:
    async with opened() as access:
        token = by_hand(claims(), header={"alg": "HS256", "kid": "../../etc/passwd", "typ": "anything"})
        assert (await known(access, bearer(token))).name == "ann"


@asynchronous
async def test_the_end_of_a_token_has_a_minute_of_leeway_and_no_more() -> None:
    clock = ManualClock()
    async with opened(clock=clock) as access:
        header = bearer(shared_token(claims(exp=NOW + 10)))
        assert (await known(access, header)).name == "ann"
        clock.advance(70)
        assert (await known(access, header)).name == "ann"
        clock.advance(1)
        assert await outcome(access, header) == INVALID


@asynchronous
async def test_what_was_verified_once_is_not_believed_in_another_spelling() -> None:
    async with opened() as access:
        assert (await known(access, bearer(PROPER))).name == "ann"
        for other in (PROPER + "=", PROPER[:-1] + chr(ord(PROPER[-1]) ^ 1), PROPER.swapcase()):
            assert await outcome(access, bearer(other)) == INVALID


@asynchronous
async def test_a_refusal_shows_nothing_of_the_token() -> None:
    async with opened() as access:
        with pytest.raises(Unauthorized) as caught:
            await access.identify(bearer(by_hand(b'{"sub":"correct-horse"')))
        error: BaseException | None = caught.value
        while error is not None:
            assert "correct-horse" not in f"{error} {error!r}"
            assert SECRET not in f"{error} {error!r}"
            error = error.__cause__ or error.__context__
        assert SECRET not in repr(access) + repr(vars(access))
