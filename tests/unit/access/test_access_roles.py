"""Who may read and write what: the tables of contract section 10.3."""

from __future__ import annotations

import logging

import pytest

from aviso_core.errors import Forbidden, Unauthorized
from aviso_core.schema.model import Auth, RoleMap
from aviso_http.access.decision import Decision
from aviso_http.access.open import OpenAccess
from aviso_http.access.roles import matches, may_administer, may_read, may_write
from aviso_http.access.user import User

ADMINISTRATORS = {"main": ("operator",)}
NOBODY = None
USERS = {
    "nobody": NOBODY,
    "plain": User(name="ann", realm="main"),
    "reader": User(name="ann", realm="main", roles=("reader",)),
    "writer": User(name="ann", realm="main", roles=("x", "writer")),
    "operator": User(name="ann", realm="main", roles=("operator",)),
    "elsewhere": User(name="ann", realm="other", roles=("reader", "operator")),
    "unknown realm": User(name="ann", realm="third", roles=("reader", "writer", "operator")),
    "no realm": User(name="ann", roles=("reader", "writer", "operator")),
}
READ: RoleMap = {"main": ("reader",), "other": ("*",)}
WRITE: RoleMap = {"main": ("writer",)}

LOGIN = "Authentication is required for this stream"
NO_READ = "User does not have required read role for this stream"
NO_WRITE = "User does not have required write role for this stream"
ADMIN_ONLY = "Only administrators can write to this stream"

BLOCKS = {
    "absent": None,
    "not required": Auth(required=False),
    "required": Auth(required=True),
    "read roles": Auth(required=True, read_roles=READ),
    "write roles": Auth(required=True, write_roles=WRITE),
    "both": Auth(required=True, read_roles=READ, write_roles=WRITE),
    "empty maps": Auth(required=True, read_roles={}, write_roles={}),
}

# Block: what each of the users above gets, in their order. An empty text is "may".
READING = {
    "absent": ["", "", "", "", "", "", "", ""],
    "not required": ["", "", "", "", "", "", "", ""],
    "required": [LOGIN, "", "", "", "", "", "", ""],
    "read roles": [LOGIN, NO_READ, "", NO_READ, "", "", NO_READ, NO_READ],
    "write roles": [LOGIN, "", "", "", "", "", "", ""],
    "both": [LOGIN, NO_READ, "", NO_READ, "", "", NO_READ, NO_READ],
    "empty maps": [LOGIN, NO_READ, NO_READ, NO_READ, "", NO_READ, NO_READ, NO_READ],
}
WRITING = {
    "absent": ["", "", "", "", "", "", "", ""],
    "not required": ["", "", "", "", "", "", "", ""],
    "required": [LOGIN, *[ADMIN_ONLY] * 3, "", *[ADMIN_ONLY] * 3],
    "read roles": [LOGIN, *[ADMIN_ONLY] * 3, "", *[ADMIN_ONLY] * 3],
    "write roles": [LOGIN, NO_WRITE, NO_WRITE, "", "", *[NO_WRITE] * 3],
    "both": [LOGIN, NO_WRITE, NO_WRITE, "", "", *[NO_WRITE] * 3],
    "empty maps": [LOGIN, *[NO_WRITE] * 3, "", *[NO_WRITE] * 3],
}


def _rows(table: dict[str, list[str]]) -> list[tuple[str, str, str]]:
    return [
        (block, user, text) for block, texts in table.items() for user, text in zip(USERS, texts, strict=True)
    ]


def _check(decision: Decision, text: str) -> None:
    assert decision.reason
    assert decision.allowed == (not text)
    if not text:
        decision.require()
        return
    with pytest.raises(Unauthorized if text == LOGIN else Forbidden, match=f"^{text}$"):
        decision.require()


@pytest.mark.parametrize(("block", "user", "text"), _rows(READING))
def test_reading_is_decided_by_block_and_user(block: str, user: str, text: str) -> None:
    _check(may_read(BLOCKS[block], USERS[user], ADMINISTRATORS), text)


@pytest.mark.parametrize(("block", "user", "text"), _rows(WRITING))
def test_writing_is_decided_by_block_and_user(block: str, user: str, text: str) -> None:
    _check(may_write(BLOCKS[block], USERS[user], ADMINISTRATORS), text)


@pytest.mark.parametrize("name", [name for name, user in USERS.items() if user is not None])
def test_only_the_right_role_in_the_right_realm_administers(name: str) -> None:
    user = USERS[name]
    assert user is not None
    decision = may_administer(user, ADMINISTRATORS)
    assert decision.allowed == (name == "operator")
    assert decision.allowed or str(decision.refusal) == "User does not have required administrative role"


@pytest.mark.parametrize(
    ("roles", "matching"),
    [
        ({}, False),
        ({"main": ()}, False),
        ({"main": ("*",)}, True),
        ({"main": ("x", "*")}, True),
        ({"main": ("reader",)}, True),
        ({"main": ("Reader", "reader ")}, False),
        ({"Main": ("*",), "": ("*",), "*": ("*",)}, False),
    ],
)
def test_a_role_map_is_compared_to_the_letter(roles: dict[str, tuple[str, ...]], matching: bool) -> None:
    assert matches(roles, User(name="ann", realm="main", roles=("reader",))) == matching


def test_a_user_without_realm_matches_no_map() -> None:
    assert not matches({"": ("*",), "*": ("*",)}, User(name="ann", roles=("*",)))


def test_having_the_star_as_a_role_is_not_having_every_role() -> None:
    """The star means something in the map, not in a token."""
    assert not matches({"main": ("reader",)}, User(name="ann", realm="main", roles=("*",)))


# --- what a decision tells -------------------------------------------------------------------------------

NOBODY_MAY = "nobody of realm 'third' may"
NO_REALM = "the event type is for roles of a realm, and the user has no realm"
ADMINISTERS = "the user is an administrator"
NO_LIST = "the event type lists no roles that may, and the user is no administrator"


@pytest.mark.parametrize(
    ("block", "user", "allowed", "rule", "reason", "wanted"),
    [
        ("absent", "nobody", True, "open", "the event type is open to anybody", ()),
        (
            "both",
            "nobody",
            False,
            "authenticated",
            "the event type is for known users, and the caller is not known",
            (),
        ),
        ("required", "plain", True, "authenticated", "any known user may", ()),
        ("both", "reader", True, "read_roles", "the user has a role that may", ("reader",)),
        ("both", "elsewhere", True, "read_roles", "the user has a role that may", ("*",)),
        ("both", "operator", True, "administrators", ADMINISTERS, ("reader",)),
        ("both", "writer", False, "read_roles", "none of the user's roles in realm 'main' may", ("reader",)),
        ("both", "unknown realm", False, "read_roles", NOBODY_MAY, ()),
        ("both", "no realm", False, "read_roles", NO_REALM, ()),
    ],
)
def test_a_decision_about_reading_tells_what_decided(
    block: str, user: str, allowed: bool, rule: str, reason: str, wanted: tuple[str, ...]
) -> None:
    known = USERS[user]
    decision = may_read(BLOCKS[block], known, ADMINISTRATORS)
    assert (decision.allowed, decision.rule, decision.reason, decision.wanted) == (
        allowed,
        rule,
        reason,
        wanted,
    )
    assert decision.realm == (known.realm if known else None)
    assert decision.found == (known.roles if known else ())


@pytest.mark.parametrize(
    ("block", "user", "rule", "reason", "wanted"),
    [
        ("required", "operator", "administrators", ADMINISTERS, ()),
        ("read roles", "reader", "administrators", NO_LIST, ()),
        ("both", "writer", "write_roles", "the user has a role that may", ("writer",)),
        ("both", "reader", "write_roles", "none of the user's roles in realm 'main' may", ("writer",)),
        ("both", "elsewhere", "write_roles", "nobody of realm 'other' may", ()),
    ],
)
def test_a_decision_about_writing_tells_what_decided(
    block: str, user: str, rule: str, reason: str, wanted: tuple[str, ...]
) -> None:
    decision = may_write(BLOCKS[block], USERS[user], ADMINISTRATORS)
    assert (decision.rule, decision.reason, decision.wanted) == (rule, reason, wanted)


def test_a_decision_tells_nothing_of_other_realms_or_of_administration() -> None:
    """A caller may see it: the roles in it are the caller's own, and those listed for the caller's realm."""
    for user in USERS.values():
        for block in BLOCKS.values():
            for decide in (may_read, may_write):
                decision = decide(block, user, ADMINISTRATORS)
                assert not any(role in decision.reason.split() for role in ("reader", "writer", "operator"))
                realm = None if user is None else user.realm
                assert "operator" not in decision.wanted
                assert realm in ("main", "other") or not decision.wanted


def test_a_refusal_is_logged_with_what_decided(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(Forbidden):
        may_read(BLOCKS["both"], USERS["writer"], ADMINISTRATORS).require()
    (record,) = caplog.records
    assert record.getMessage() == "none of the user's roles in realm 'main' may"
    assert vars(record)["attributes"] == {
        "rule": "read_roles",
        "realm": "main",
        "wanted": ("reader",),
        "found": ("x", "writer"),
    }


def test_a_decision_cannot_be_both() -> None:
    with pytest.raises(AssertionError):
        Decision(allowed=True, rule="open", reason="x", refusal=Forbidden("x"))
    with pytest.raises(AssertionError):
        Decision(allowed=False, rule="open", reason="x")


# --- without authentication ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["absent", "not required"])
def test_without_authentication_what_asks_for_nobody_is_open(name: str) -> None:
    access = OpenAccess()
    assert access.is_open
    assert access.is_administrator(None)
    assert access.may_read(BLOCKS[name], None).allowed
    assert access.may_write(BLOCKS[name], None).allowed


@pytest.mark.parametrize("name", ["required", "both"])
def test_without_authentication_what_asks_for_somebody_stays_closed(name: str) -> None:
    """Such an event type is not served; should one get here all the same, nobody is known who could pass."""
    access = OpenAccess()
    for decision in (access.may_read(BLOCKS[name], None), access.may_write(BLOCKS[name], None)):
        assert decision.rule == "authentication_off"
        assert "set auth.enabled to true" in decision.reason
        with pytest.raises(Unauthorized) as caught:
            decision.require()
        assert caught.value.message.startswith(f"{LOGIN}, and this service has authentication off")
        assert "set auth.enabled to true" in caught.value.message
