"""Whatever other services answer and issuers sign, nobody passes by accident, and nothing fails but in our own way."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, get_args

from hypothesis import given
from hypothesis import strategies as st

from aviso_core.errors import AccessRefused
from aviso_core.schema.model import Auth
from aviso_http.access.auth_service import token_in
from aviso_http.access.claims import check_registered, user_of_issuer
from aviso_http.access.ecpds.destinations import Failure, Policy, Word, list_url, merge, read_reply
from aviso_http.access.reply import Reply, ReplyReader, Unanswered
from aviso_http.access.roles import may_read, may_write
from aviso_http.access.service_account import read_account
from aviso_http.access.token import InvalidToken, looks_like_token
from aviso_http.access.user import User
from support.tokens import NOW, claims

if TYPE_CHECKING:
    from collections.abc import Sequence

_JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
_RECORDS: Final = st.lists(
    st.fixed_dictionaries({}, optional={"name": _JSON, "active": _JSON | st.just(True)}) | _JSON, max_size=4
)
_LISTINGS: Final = st.fixed_dictionaries(
    {}, optional={"success": st.just("yes") | _JSON, "destinationList": _RECORDS | _JSON}
)
_WORDS: Final = st.frozensets(st.sampled_from("abcd")) | st.sampled_from(Failure)


def _bodies(values: st.SearchStrategy[object]) -> st.SearchStrategy[bytes]:
    return st.binary(max_size=100) | values.map(lambda value: json.dumps(value).encode())


@given(st.integers(0, 999), _bodies(_LISTINGS | _JSON))
def test_a_server_grants_only_what_it_says_it_grants(status: int, body: bytes) -> None:
    word = read_reply(Reply(status, (), body), target_field="name")
    if isinstance(word, Failure):
        return
    said = json.loads(body)
    assert status == 200
    assert said["success"] == "yes"
    for name in word:
        assert any(
            isinstance(record, dict) and record.get("name") == name and record.get("active") is True
            for record in said["destinationList"]
        )


@given(st.lists(_WORDS, min_size=1, max_size=5), st.sampled_from(get_args(Policy)))
def test_servers_together_grant_nothing_that_none_of_them_does(words: Sequence[Word], policy: Policy) -> None:
    failures = [word for word in words if isinstance(word, Failure)]
    granted = [word for word in words if not isinstance(word, Failure)]
    merged = merge(words, policy=policy)
    if isinstance(merged, Failure):
        assert failures
        assert merged == min(failures)
        assert policy == "strict" or not granted
    else:
        assert merged == frozenset().union(*granted)
        assert policy == "any_success" or not failures


@given(st.text(st.characters(codec="utf-8")))
def test_any_name_is_one_value_of_the_question(name: str) -> None:
    url = list_url("https://ecpds.example/base/", name)
    assert url.startswith("https://ecpds.example/base/ecpds/v1/destination/list?id=")
    assert url.isascii()
    assert not set(url.partition("?id=")[2]) & set(" &=#?/\r\n\t+")


@given(
    st.integers(0, 999),
    _bodies(st.dictionaries(st.sampled_from(["token", "jwt", "access_token", "x"]), _JSON) | _JSON),
    st.lists(st.tuples(st.sampled_from(["authorization", "x"]), st.text(st.characters(codec="latin-1")))),
)
def test_any_answer_of_the_auth_service_is_a_token_or_a_refusal(
    status: int, body: bytes, headers: list[tuple[str, str]]
) -> None:
    try:
        token = token_in(Reply(status, tuple(headers), body))
    except AccessRefused:
        return
    assert 200 <= status < 300
    assert looks_like_token(token)


@given(st.lists(st.binary(max_size=50), max_size=6))
def test_any_bytes_are_an_answer_or_none(pieces: list[bytes]) -> None:
    for beginning in (b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"):
        reader = ReplyReader(100)
        try:
            for piece in [beginning, *pieces]:
                reader.feed(piece)
        except Unanswered:
            continue
        reader.end()
        assert reader.reply is None or len(reader.reply.body) <= 100


_CLAIMS: Final = st.dictionaries(
    st.sampled_from(
        ["iss", "aud", "sub", "exp", "nbf", "iat", "roles", "realm", "kubernetes.io", "tenant", "x"]
    ),
    _JSON
    | st.sampled_from([NOW, NOW + 1, "id", "aviso", ["aviso"], ["reader"], {"name": "main"}])
    | st.fixed_dictionaries({"namespace": st.just("a"), "serviceaccount": st.just({"name": "b"}) | _JSON}),
)


@given(_CLAIMS)
def test_any_claims_of_an_issuer_end_in_its_own_realm_or_in_a_refusal(changes: dict[str, object]) -> None:
    content = claims(iss="id", aud="aviso") | changes
    try:
        expires_at = check_registered(content, issuer="id", audience="aviso", now=NOW)
        user = user_of_issuer(
            content,
            expires_at=expires_at,
            realm="staff",
            realm_claim="",
            roles_claim="roles",
            username_claim="sub",
        )
    except (InvalidToken, AccessRefused):
        return
    assert user.realm == "staff"
    assert user.name
    assert NOW - 60 <= expires_at == content["exp"]


@given(_CLAIMS)
def test_any_claims_of_a_cluster_name_one_account_or_none(changes: dict[str, object]) -> None:
    content = {
        "sub": "system:serviceaccount:a:b",
        "kubernetes.io": {"namespace": "a", "serviceaccount": {"name": "b"}},
    } | changes
    try:
        account = read_account(content)
    except InvalidToken:
        return
    assert content["sub"] == f"system:serviceaccount:{account.namespace}:{account.name}"


@given(st.text(), st.lists(st.text()), st.dictionaries(st.text(), st.lists(st.text()).map(tuple)))
def test_without_a_role_of_the_own_realm_nobody_passes_a_list(
    realm: str, has: list[str], listed: dict[str, tuple[str, ...]]
) -> None:
    user = User(name="ann", realm=realm, roles=tuple(has))
    auth = Auth(required=True, read_roles=listed, write_roles=listed)
    may = "*" in listed.get(realm, ()) or bool(set(has) & set(listed.get(realm, ())))
    for decision in (may_read(auth, user, {}), may_write(auth, user, {})):
        assert decision.allowed == may
        assert decision.wanted == listed.get(realm, ())
