"""The one OpenAPI document of all services: fragments put together, and the packaged file that comes out.

Each service describes its own routes in a function `fragment()`, which returns the `paths` and `components` that it
answers for. This module does not import them: whoever builds the file names their modules,

    python -m aviso_schema.openapi_document aviso_schema.openapi aviso_ingest.openapi

so that services stay strangers to each other. Nothing is resolved by order: whatever two fragments both claim, whatever
is referred to and not there, is refused.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from aviso_schema.openapi_frame import TAGS, frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# OpenAPI is an open vocabulary: it is written out as JSON and never read by our own code.
OpenApi: TypeAlias = dict[str, Any]

PACKAGED: Final = Path(__file__).with_name("openapi.json")

_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


class NotMergeable(ValueError):
    """Fragments that do not fit together; the message has a line for each reason."""


def merge(fragments: Iterable[OpenApi], version: str) -> OpenApi:
    """Return the document of all fragments, or refuse those that do not fit together."""
    document = frame(version)
    faults: list[str] = []
    for fragment in fragments:
        faults += [
            f"'{name}' has no place in a fragment" for name in fragment.keys() - {"paths", "components"}
        ]
        for path, item in fragment.get("paths", {}).items():
            faults += _put(document["paths"].setdefault(path, {}), item, f"paths {path}")
        for kind, named in fragment.get("components", {}).items():
            faults += _put(document["components"].setdefault(kind, {}), named, f"components {kind}")
    faults += _faults(document)
    if faults:
        raise NotMergeable("\n".join(faults))
    return document | {"paths": _in_order(document["paths"]), "components": _in_order(document["components"])}


def _in_order(groups: OpenApi) -> OpenApi:
    """Return groups of parts in an order that does not tell in which order they came."""
    return {name: dict(sorted(group.items(), key=_place)) for name, group in sorted(groups.items())}


def _place(item: tuple[str, object]) -> tuple[int, str]:
    name, _ = item
    return _METHODS.index(name) if name in _METHODS else len(_METHODS), name


def _put(into: OpenApi, members: OpenApi, where: str) -> Iterator[str]:
    for name, value in members.items():
        if name in into:
            yield f"{where}: '{name}' is there twice"
        into[name] = value


# --- what must hold for the whole ------------------------------------------------------------------------


def _faults(document: OpenApi) -> Iterator[str]:
    seen: set[str] = set()
    for where, operation in _operations(document):
        name = operation.get("operationId")
        if name is None or name in seen:
            yield f"{where}: operationId {name!r} is missing or there twice"
        seen.add(str(name))
        for tag in operation.get("tags", [None]):
            if tag not in TAGS:
                yield f"{where}: '{tag}' is none of the tags {', '.join(TAGS)}"
    for reference in sorted(set(_references(document))):
        if not _leads_somewhere(document, reference):
            yield f"'{reference}' is referred to and not there"


def _operations(document: OpenApi) -> Iterator[tuple[str, OpenApi]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method in _METHODS:
                yield f"{method.upper()} {path}", operation


def _references(value: Any) -> Iterator[str]:
    match value:
        case dict():
            if isinstance(value.get("$ref"), str):
                yield value["$ref"]
            for inner in value.values():
                yield from _references(inner)
        case list():
            for inner in value:
                yield from _references(inner)


def _leads_somewhere(document: OpenApi, reference: str) -> bool:
    if not reference.startswith("#/"):
        return False
    value: Any = document
    for step in reference[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(value, dict) or name not in value:
            return False
        value = value[name]
    return True


# --- the packaged file -----------------------------------------------------------------------------------


def packaged_document() -> bytes:
    """Return the document as it was built last."""
    return PACKAGED.read_bytes()


def with_version(document: bytes, version: str) -> bytes:
    """Return the document as the service of this version shows it."""
    shown = json.loads(document)
    shown["info"]["version"] = version
    return json.dumps(shown, ensure_ascii=False).encode()


def build(modules: Iterable[str]) -> bytes:
    """Return the document of the fragments in these modules, as it is packaged."""
    fragments = [importlib.import_module(name).fragment() for name in modules]
    document = merge(fragments, importlib.metadata.version("aviso-schema"))
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def main(arguments: list[str]) -> int:
    """Write the packaged document, or only tell whether it is up to date."""
    parser = argparse.ArgumentParser(prog="python -m aviso_schema.openapi_document", description=main.__doc__)
    parser.add_argument("modules", nargs="+", help="modules with a function fragment()")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the file is another")
    options = parser.parse_args(arguments)
    made = build(options.modules)
    if not options.check:
        PACKAGED.write_bytes(made)
        return 0
    if made == packaged_document():
        return 0
    print(f"{PACKAGED} is not what the services say: `make openapi` writes it", file=sys.stderr)  # noqa: T201
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
