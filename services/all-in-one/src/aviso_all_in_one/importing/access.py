"""Who may publish and read → `auth` of a manifest. Nothing here is ever made wider than it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, get_args

from aviso_core.schema.manifest_parts import Plugin

if TYPE_CHECKING:
    from aviso_all_in_one.importing.notes import Notes
    from aviso_core.schema.model import Auth, RoleMap

MOST_REALMS: Final = 16
MOST_ROLES: Final = 64
LONGEST_NAME: Final = 64


def access(auth: Auth | None, notes: Notes) -> dict[str, Any]:
    """Return who may, said in full: a manifest that says nothing asks for authentication."""
    if auth is None:
        notes.know(
            "auth",
            "is not there, so the event type is public: the manifest says so, auth.required: false",
            "set it to true if publishers and readers should be known",
        )
        return {"required": False}
    if not auth.required:
        if auth.read_roles or auth.write_roles or auth.plugins:
            notes.know(
                "auth",
                "lists who may although anybody may: the manifest leaves the lists out",
                "set auth.required to true and list them, if they are meant",
            )
        return {"required": False}
    part: dict[str, Any] = {"required": True}
    if auth.read_roles is not None:
        part["read"] = _roles(auth.read_roles, "auth.read_roles", notes)
    if auth.write_roles is not None:
        part["write"] = _roles(auth.write_roles, "auth.write_roles", notes)
    if auth.plugins:
        part["plugins"] = _plugins(auth.plugins, notes)
    return part


def _roles(roles: RoleMap, path: str, notes: Notes) -> list[dict[str, Any]]:
    """Return a role map as a list; one that lets nobody in, or is too large, is nothing to guess about."""
    listed = {realm: list(dict.fromkeys(names)) for realm, names in roles.items()}
    if not listed or not all(listed.values()):
        raise notes.leave_out(
            path,
            "has a realm without roles, or no realm at all, which no manifest can say",
            "list the roles of each realm, or remove what has none",
        )
    texts = [text for realm, names in listed.items() for text in (realm, *names)]
    if (
        len(listed) > MOST_REALMS
        or any(len(names) > MOST_ROLES for names in listed.values())
        or not all(1 <= len(text) <= LONGEST_NAME for text in texts)
    ):
        raise notes.leave_out(
            path,
            f"is larger than a manifest takes: {MOST_REALMS} realms, {MOST_ROLES} roles of each, names of "
            f"{LONGEST_NAME} characters",
            "give those who may a role in common",
        )
    return [{"realm": realm, "roles": names} for realm, names in listed.items()]


def _plugins(plugins: tuple[str, ...], notes: Notes) -> list[str]:
    known = get_args(Plugin.__value__ if hasattr(Plugin, "__value__") else Plugin)
    if not set(plugins) <= set(known):
        raise notes.leave_out(
            "auth.plugins", f"names a plugin that is not known: {', '.join(known)} is", "remove it"
        )
    return list(dict.fromkeys(plugins))
