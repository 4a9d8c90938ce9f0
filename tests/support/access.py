"""Access as services open it, and a record of what it counts."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from aviso_core.errors import AccessRefused
from aviso_core.plain.decode import decode
from aviso_core.settings.model import Settings
from aviso_http.access.open import open_access
from support.registries import ManualClock
from support.tokens import SECRET

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from aviso_http.access.base import Access
    from aviso_http.access.key_sources import LoadKeys
    from aviso_http.access.user import User

AUTH: Final[dict[str, Any]] = {
    "enabled": True,
    "mode": "trusted_proxy",
    "jwt_secret": SECRET,
    "admin_roles": {"main": ["operator"], "kubernetes": ["aviso:operator"]},
    "timeout_ms": 2000,
}


def settings(*, ecpds: Mapping[str, object] | None = None, **auth: object) -> Settings:
    """Return settings with this `auth` block, where None leaves a key out, and this `ecpds` block, if any."""
    block = {key: value for key, value in (AUTH | auth).items() if value is not None}
    read, faults = decode(
        Settings,
        {
            "application": {"host": "127.0.0.1", "port": 0},
            "notification_backend": {"kind": "in_memory"},
            "auth": block,
            "ecpds": ecpds,
        },
    )
    assert read is not None, faults
    return read


class Counted(list[str]):
    """The outcomes that were counted, in order."""


@asynccontextmanager
async def opened(
    counted: Counted | None = None,
    *,
    clock: ManualClock | None = None,
    cluster_keys: LoadKeys | None = None,
    **auth: Any,
) -> AsyncIterator[Access]:
    """Open access with this `auth` block, on a clock that stands still."""
    outcomes = Counted() if counted is None else counted
    async with open_access(
        settings(**auth), count=outcomes.append, clock=clock or ManualClock(), cluster_keys=cluster_keys
    ) as access:
        yield access


async def outcome(access: Access, authorization: bytes | None, *, admin: bool = False) -> object:
    """Return the user, None, or the class and the text of the refusal."""
    identify = access.identify_administrator if admin else access.identify
    try:
        return await identify(authorization)
    except AccessRefused as refusal:
        return type(refusal), refusal.message


async def known(access: Access, authorization: bytes | None) -> User:
    """Return the user, who must be known."""
    user = await access.identify(authorization)
    assert user is not None, "nobody in particular"
    return user
