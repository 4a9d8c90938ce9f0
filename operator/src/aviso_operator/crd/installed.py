"""Whether the definition in the cluster knows every member of ours.

An older definition drops what it does not know, and tells nobody: an object would be accepted without the limit that
its author wrote, and served so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from aviso_operator.crd.definition import definition
from aviso_operator.resources import GROUP, VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DOCUMENT: Final = f"/openapi/v3/apis/{GROUP}/{VERSION}"
_NAME: Final = f"{'.'.join(reversed(GROUP.split('.')))}.{VERSION}.EventSchema"


class _Components(msgspec.Struct, frozen=True):
    schemas: dict[str, dict[str, Any]]


class _Document(msgspec.Struct, frozen=True):
    components: _Components


def missing_members(document: bytes) -> list[str]:
    """Return what the definition does not know, by what the cluster says of it; of what is missing, only the whole."""
    served = msgspec.json.decode(document, type=_Document).components.schemas.get(_NAME, {})
    [version] = definition()["spec"]["versions"]
    ours, there = version["schema"]["openAPIV3Schema"]["properties"], served.get("properties", {})
    # The rest is the cluster's own, and described elsewhere.
    return [
        missing for part in ("spec", "status") for missing in _missing(ours[part], there.get(part, {}), part)
    ]


def _missing(ours: Mapping[str, Any], served: Mapping[str, Any], path: str) -> Iterator[str]:
    there = served.get("properties", {})
    for name, member in ours.get("properties", {}).items():
        inner = f"{path}.{name}"
        if name not in there:
            yield inner
        else:
            yield from _missing(member, there[name], inner)
    if "items" in ours:
        yield from _missing(ours["items"], served.get("items", {}), f"{path}[]")
