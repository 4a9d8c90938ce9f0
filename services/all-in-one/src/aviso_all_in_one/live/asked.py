"""A declaration → what the resource of it would want. Pure.

Whose it is stands in the manifest as far as it goes. A cluster would put an object without a namespace into whichever
namespace the command is told, so that is asked for; where nobody says, it is the one where the event type is published
from, if that object has the same name, and else `default`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from aviso_core.planning.plan import ADOPT, Desired
from aviso_core.registry.base import Owner, Published, Version
from aviso_core.schema.manifest_parts import ReconcilePolicy
from aviso_core.schema.model import Schema

if TYPE_CHECKING:
    from aviso_all_in_one.files.declaration import Declaration
    from aviso_core.planning.plan import SeenStream

_DEFAULT_NAMESPACE = "default"


class _Metadata(msgspec.Struct, frozen=True):
    name: str
    namespace: str | None = None
    annotations: dict[str, str] = {}


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    reconcile_policy: ReconcilePolicy = "Enforce"


class _Manifest(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: _Spec


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A manifest, as far as it says who asks for what."""

    place: str
    name: str
    namespace: str | None
    adopts: str | None
    policy: ReconcilePolicy
    schema: Schema

    def desired(self, latest: Version | None, stream: SeenStream | None) -> Desired:
        """Return what its resource wants, where this is what there is.

        A resource that is there keeps its uid; a cluster gives one to a resource that is new.
        """
        owner = Owner(self._namespace(latest), self.name)
        uid = ""
        if isinstance(latest, Published) and latest.owner == owner:
            uid = latest.uid or ""
        elif stream is not None and stream.stamps is not None and stream.stamps.owner == str(owner):
            uid = stream.stamps.uid
        return Desired(owner=owner, uid=uid, schema=self.schema, adopts=self.adopts)

    def _namespace(self, latest: Version | None) -> str:
        if self.namespace is not None:
            return self.namespace
        if isinstance(latest, Published) and latest.owner is not None and latest.owner.name == self.name:
            return latest.owner.namespace
        return _DEFAULT_NAMESPACE


def asked_of(declaration: Declaration, *, namespace: str | None) -> Asked:
    """Return what a manifest without faults asks for; what it says itself goes before what the command was told."""
    document = declaration.document
    (schema,) = declaration.schemas
    # The rest of it was read and judged before.
    manifest = msgspec.convert(document.mapping, _Manifest)
    return Asked(
        place=f"{document.source.name}:{document.line}",
        name=manifest.metadata.name,
        namespace=manifest.metadata.namespace or namespace,
        adopts=manifest.metadata.annotations.get(ADOPT),
        policy=manifest.spec.reconcile_policy,
        schema=schema,
    )
