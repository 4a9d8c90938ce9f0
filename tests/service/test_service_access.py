"""Who may do what, and who is told so with which words (contract section 10)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from support.event_logs import asynchronous
from support.http_server import answering, hanging, running_http_server, sending
from support.services import running_service
from support.tokens import SECRET, by_hand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from support.services import Answered, Service


def _guarded(name: str, auth: Mapping[str, object] | None) -> dict[str, object]:
    declared: dict[str, object] = {
        "topic": {"base": name, "key_order": ["k"]},
        "identifier": {"k": {"type": "StringHandler", "required": True}},
    }
    return declared if auth is None else {**declared, "auth": auth}


STREAMS: Final[dict[str, dict[str, object] | None]] = {
    "free": None,
    "optional": {"required": False},
    "members": {"required": True},
    "readers": {"required": True, "read_roles": {"main": ["reader"]}},
    "desk": {"required": True, "write_roles": {"main": ["writer"]}},
    "realm": {"required": True, "write_roles": {"main": ["*"]}},
    "both": {"required": True, "read_roles": {"main": ["*"]}, "write_roles": {"other": ["writer"]}},
}
AUTH: Final = {
    "enabled": True,
    "mode": "trusted_proxy",
    "jwt_secret": SECRET,
    "admin_roles": {"main": ["operator"]},
}
CONFIGURATION: Final[dict[str, Any]] = {
    "auth": AUTH,
    "notification_schema": {name: _guarded(name, auth) for name, auth in STREAMS.items()},
}


def bearer(**changes: object) -> dict[str, str]:
    """Return the header of Ann of the realm `main`, with other claims; None leaves one out."""
    now = int(time.time())
    claims = {"sub": "ann", "realm": "main", "roles": ["reader"], "exp": now + 3600} | changes
    kept = {name: value for name, value in claims.items() if value is not None}
    return {"Authorization": f"Bearer {by_hand(kept)}"}


def note(stream: str) -> dict[str, object]:
    """Return a notification for a stream."""
    return {"event_type": stream, "identifier": {"k": "1"}}


def refusal(answered: Answered) -> tuple[int, str]:
    """Return status and message, of an answer that is what the contract says of all of its kind."""
    code, label = {
        401: ("UNAUTHORIZED", "unauthorized"),
        403: ("FORBIDDEN", "forbidden"),
        503: ("SERVICE_UNAVAILABLE", "service_unavailable"),
    }[answered.status]
    said = answered.json
    assert said == {
        "code": code,
        "error": label,
        "message": said["message"],
        "request_id": answered.headers["x-request-id"],
    }
    assert answered.headers["content-type"] == "application/json"
    assert ("www-authenticate" in answered.headers) == (answered.status == 401)
    return answered.status, said["message"]


# --- who may write ---------------------------------------------------------------------------------------

NOBODY: Final = (401, "Authentication is required for this stream")
INVALID: Final = (401, "Invalid or expired token")
NO_CLAIMS: Final = (401, "Token is missing required user claims")
ONLY_ADMINS: Final = (403, "Only administrators can write to this stream")
NO_ROLE: Final = (403, "User does not have required write role for this stream")
OPEN: Final = ("free", "optional")
ALL: Final = tuple(STREAMS)

# By caller: where each may write, and what everybody else is told; an answer for all streams stands alone.
MAY_WRITE: Final = {
    "reader": (bearer(), {*OPEN, "realm"}),
    "writer": (bearer(roles=["writer"]), {*OPEN, "desk", "realm"}),
    "writer among others": (bearer(roles=["x", "writer", "y"]), {*OPEN, "desk", "realm"}),
    "writer in capitals": (bearer(roles=["Writer"]), {*OPEN, "realm"}),
    "writer elsewhere": (bearer(roles=["writer"], realm="other"), {*OPEN, "both"}),
    "writer of no realm": (bearer(roles=["writer"], realm=None), {*OPEN}),
    "star": (bearer(roles=["*"]), {*OPEN, "realm"}),
    "without roles": (bearer(roles=None), {*OPEN, "realm"}),
    "operator": (bearer(roles=["operator"]), {*ALL}),
    "operator elsewhere": (bearer(roles=["operator"], realm="other"), {*OPEN}),
}


@asynchronous
async def test_a_stream_is_written_by_those_whom_it_names() -> None:
    """By nobody in particular where it asks for nothing, and by administrators everywhere."""
    found = []
    async with running_service(CONFIGURATION) as service:
        for caller, (headers, allowed) in MAY_WRITE.items():
            for stream, auth in STREAMS.items():
                answered = await service.notify(note(stream), headers=headers)
                has_writers = "write_roles" in (auth or {})
                expected = (200, "") if stream in allowed else NO_ROLE if has_writers else ONLY_ADMINS
                said = (200, "") if answered.status == 200 else refusal(answered)
                if said != expected:
                    found.append(f"{caller} to {stream}: {said}, not {expected}")
        for stream in STREAMS:
            answered = await service.notify(note(stream))
            said = (200, "") if answered.status == 200 else refusal(answered)
            if said != ((200, "") if stream in OPEN else NOBODY):
                found.append(f"nobody to {stream}: {said}")
    assert not found, "\n".join(found)


def no_users() -> dict[str, tuple[str, tuple[int, str]]]:
    """Return tokens that are nobody's, and what is said of each."""
    now = int(time.time())
    claims = {"sub": "ann", "exp": now + 3600}
    changed: dict[str, dict[str, object]] = {
        "expired beyond the leeway": {"exp": now - 120},
        "no end": {"exp": None},
        "a negative end": {"exp": -1},
        "an end that is a text": {"exp": str(now + 3600)},
        "a realm that is a number": {"realm": 5},
        "roles that are a text": {"roles": "operator"},
        "a role that is a number": {"roles": ["operator", 5]},
        "attributes that are a list": {"attributes": []},
        "an issuer that is a number": {"iss": 5},
        "a time of issue that is a text": {"iat": "now"},
    }
    return {
        "words": ("Bearer words", INVALID),
        "another secret": (f"Bearer {by_hand(claims, secret='another')}", INVALID),
        "no algorithm": (f"Bearer {by_hand(claims, header={'alg': 'none'})}", INVALID),
        "nobody's name": (bearer(sub=None)["Authorization"], NO_CLAIMS),
        **{name: (bearer(**changes)["Authorization"], INVALID) for name, changes in changed.items()},
    }


def users() -> dict[str, dict[str, str]]:
    """Return the headers of writers, each of whom is known in another way."""
    now = int(time.time())
    changed: dict[str, dict[str, object]] = {
        "within the leeway": {"exp": now - 30},
        "a name of its own": {"sub": None, "username": "ann"},
        "claims that are not checked": {"aud": 5, "nbf": now + 3600, "iss": "x"},
        "attributes": {"attributes": {"a": "b"}},
        "an unknown claim": {"anything": [{}]},
    }
    return {name: bearer(**changes, roles=["writer"]) for name, changes in changed.items()}


@asynchronous
async def test_a_bad_token_opens_nothing_not_even_what_is_open() -> None:
    """Below `/api/v1`, known path or not; outside of it and at the schemas nobody looks at it."""
    found = []
    async with running_service(CONFIGURATION) as service:
        for name, (value, expected) in no_users().items():
            headers = {"Authorization": value}
            for method, path in (
                ("POST", "/api/v1/notification"),
                ("PUT", "/api/v1/notification"),
                ("DELETE", "/api/v1/admin/wipe/all"),
                ("GET", "/api/v1/nowhere"),
                ("GET", "/api/v1"),
            ):
                said = refusal(await service.ask(method, path, note("free"), headers=headers))
                if said != expected:
                    found.append(f"{name}: {method} {path}: {said}")
            for path in ("/api/v1/schema", "/api/v1/schema/desk", "/health", "/ready", "/"):
                answered = await service.ask("GET", path, headers=headers)
                if answered.status != 200:
                    found.append(f"{name}: GET {path}: {answered.status}")
        for name, headers in users().items():
            answered = await service.notify(note("desk"), headers=headers)
            if answered.status != 200:
                found.append(f"{name}: {answered.status} {answered.body!r}")
    assert not found, "\n".join(found)


# --- headers, and the administration ---------------------------------------------------------------------

MALFORMED: Final = {
    "an empty one": "",
    "another scheme": "Digest abc",
    "a scheme alone": "Bearer",
    "user and password": "Basic YW5uOnB3",
    "three words": "Bearer a b",
    "no UTF-8": "Bearer \xff\xfe",
    "two in one": "Bearer a, Bearer b",
}
ADMIN_PATHS: Final = (
    ("DELETE", "/api/v1/admin/wipe/all"),
    ("DELETE", "/api/v1/admin/wipe/stream"),
    ("DELETE", "/api/v1/admin/notification/free@1"),
    ("GET", "/api/v1/admin/nowhere"),
    ("GET", "/api/v1/admin/wipe/all"),
)


@asynchronous
async def test_a_header_of_no_use_is_nobody_and_does_not_administer() -> None:
    """It is as good as none where anybody may write, and is told what is wrong with it where nobody may."""
    async with running_service(CONFIGURATION) as service:
        for name, value in MALFORMED.items():
            headers = {"Authorization": value}
            assert (await service.notify(note("free"), headers=headers)).status == 200, name
            assert refusal(await service.notify(note("desk"), headers=headers)) == NOBODY, name
            for method, path in ADMIN_PATHS:
                said = refusal(await service.ask(method, path, headers=headers))
                assert said == (401, "Authorization header must use Bearer token"), name


@asynchronous
async def test_the_administration_is_for_administrators() -> None:
    """Also the paths below it that are not there: what there is, only they are told."""
    async with running_service(CONFIGURATION) as service:
        for method, path in ADMIN_PATHS:
            nobody = await service.ask(method, path)
            assert refusal(nobody) == (401, "Authorization header is required")
            assert nobody.headers.get_list("www-authenticate") == ["Bearer"]
            for headers in (bearer(), bearer(roles=["operator"], realm="other"), bearer(roles=None)):
                said = refusal(await service.ask(method, path, headers=headers))
                assert said == (403, "User does not have required administrative role")
        operator = bearer(roles=["operator"])
        assert (await service.notify(note("members"), headers=operator)).status == 200
        deleted = await service.ask("DELETE", "/api/v1/admin/notification/members@1", headers=operator)
        assert deleted.status == 200
        assert (await service.ask("GET", "/api/v1/admin/nowhere", headers=operator)).status == 404


# --- the order of checks ---------------------------------------------------------------------------------


@asynchronous
async def test_a_caller_who_may_not_write_learns_nothing_about_fields() -> None:
    """The caller, the size, the form, the event type, what belongs elsewhere, the permission; only then the fields."""
    large = b" " * 300_000
    bad, none = {"Authorization": "Bearer bad"}, dict[str, str]()
    async with running_service(CONFIGURATION) as service:

        async def first(body: object, headers: dict[str, str]) -> str:
            content = body if isinstance(body, bytes) else None
            answered = await service.ask(
                "POST", "/api/v1/notification", body, headers=headers, content=content
            )
            return "size" if answered.status == 413 else str(answered.json["code"])

        assert await first(large, bad) == "UNAUTHORIZED"
        assert await first(large, none) == "size"
        assert await first(b"{", none) == "INVALID_JSON"
        assert await first({"event_type": "desk", "x": 1}, none) == "UNKNOWN_FIELD"
        assert await first({"event_type": "desk"}, none) == "INVALID_REQUEST_SHAPE"
        assert await first(note("nothing"), none) == "UNKNOWN_EVENT_TYPE"
        assert await first({**note("desk"), "to_id": "1"}, none) == "INVALID_NOTIFICATION_REQUEST"
        point = {"event_type": "desk", "identifier": {"point": "1,1"}}
        assert await first(point, none) == "INVALID_NOTIFICATION_REQUEST"
        unknown = {"event_type": "desk", "identifier": {"colour": 1}}
        assert await first(unknown, none) == "UNAUTHORIZED"
        assert await first(unknown, bearer()) == "FORBIDDEN"
        assert await first(unknown, bearer(roles=["writer"])) == "INVALID_NOTIFICATION_REQUEST"


@asynchronous
async def test_without_authentication_everything_is_open_and_no_header_is_looked_at() -> None:
    """Administration included."""
    configuration = {"notification_schema": {"free": _guarded("free", None)}}
    async with running_service(configuration) as service:
        for headers in ({}, {"Authorization": "Bearer bad"}, {"Authorization": ""}):
            assert (await service.notify(note("free"), headers=headers)).status == 200
            wiped = await service.ask("DELETE", "/api/v1/admin/wipe/all", headers=headers)
            assert (wiped.status, wiped.json["message"]) == (200, "Successfully wiped all data")


# --- direct mode -----------------------------------------------------------------------------------------

DOWN: Final = (503, "Authentication service temporarily unavailable")


async def _write(service: Service, headers: Mapping[str, str], stream: str = "desk") -> tuple[int, str]:
    answered = await service.notify(note(stream), headers=headers)
    return (200, "") if answered.status == 200 else refusal(answered)


@asynchronous
async def test_in_direct_mode_the_auth_service_is_asked_and_its_token_believed() -> None:
    """By token or by password; what it says is final, and when it says nothing nobody is let in."""
    writer, reader = bearer(roles=["writer"])["Authorization"], bearer()["Authorization"]
    token = writer.removeprefix("Bearer ")
    basic = {"Authorization": "Basic YW5uOnB3"}
    rows = (
        (answering(authorization=writer), (200, "")),
        (answering(200, {"token": token}), (200, "")),
        (answering(200, {"jwt": token}), (200, "")),
        (answering(200, {"access_token": token}), (200, "")),
        (answering(200, token), (200, "")),
        (answering(200, token.encode()), (200, "")),
        (answering(authorization=reader), NO_ROLE),
        (answering(authorization=bearer(exp=5)["Authorization"]), INVALID),
        (answering(authorization=bearer(sub=None)["Authorization"]), NO_CLAIMS),
        (answering(401), INVALID),
        (answering(403), (403, "Token validation was denied")),
        (answering(500), DOWN),
        (answering(302, location="/elsewhere"), DOWN),
        (answering(200, b"welcome"), DOWN),
        (sending(b"no HTTP"), DOWN),
        (hanging(), DOWN),
    )
    async with running_http_server(answering(200)) as auth_service:
        direct = {**AUTH, "mode": "direct", "auth_o_tron_url": auth_service.url, "timeout_ms": 200}
        async with running_service({**CONFIGURATION, "auth": direct}) as service:
            for number, (behaviour, expected) in enumerate(rows):
                auth_service.behaviour = behaviour
                for headers in (basic, bearer()):
                    assert await _write(service, headers) == expected, f"row {number}"
            asked = auth_service.asked[0]
            assert (asked.method, asked.target) == ("GET", "/authenticate")
            assert asked.headers["authorization"] == basic["Authorization"]
            count = len(auth_service.asked)
            nobody = await service.notify(note("desk"))
            assert refusal(nobody) == NOBODY
            assert nobody.headers.get_list("www-authenticate") == ["Bearer", "Basic"]
            assert (await service.ask("GET", "/api/v1/schema", headers=basic)).status == 200
            assert await _write(service, {"Authorization": "Digest x"}, "free") == (200, "")
            assert len(auth_service.asked) == count


@asynchronous
async def test_an_auth_service_that_is_away_lets_nobody_in_and_nobody_wait() -> None:
    """Whoever shows nothing goes on as before, and all is well again once it is back."""
    async with running_http_server(answering(200)) as gone:
        pass
    direct = {**AUTH, "mode": "direct", "auth_o_tron_url": gone.url, "timeout_ms": 500}
    async with running_service({**CONFIGURATION, "auth": direct}) as service:
        assert await _write(service, bearer()) == DOWN
        assert await _write(service, bearer(), "free") == DOWN
        assert await _write(service, {}, "free") == (200, "")
        assert (await service.ask("GET", "/ready")).status == 200


SPECIFIC: Final = {
    "": "Authorization header cannot be empty",
    "Digest abc": "Authorization header must use Bearer or Basic scheme",
    "Bearer": "Authorization header must use Bearer or Basic scheme",
    "Bearer \xff": "Authorization header is not valid UTF-8",
}


@asynchronous
async def test_in_direct_mode_the_administration_says_what_is_wrong_with_a_header() -> None:
    """The auth service is not asked about it."""
    async with running_http_server(answering(200)) as auth_service:
        direct = {**AUTH, "mode": "direct", "auth_o_tron_url": auth_service.url}
        async with running_service({**CONFIGURATION, "auth": direct}) as service:
            for value, message in SPECIFIC.items():
                answered = await service.ask(
                    "DELETE", "/api/v1/admin/wipe/all", headers={"Authorization": value}
                )
                assert refusal(answered) == (401, message)
        assert not auth_service.asked
