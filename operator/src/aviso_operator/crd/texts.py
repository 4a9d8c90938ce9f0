"""What is written about a struct and its fields: the texts of `kubectl explain`.

A field's text stands below it. Python forgets such texts, so they are read from the source, which is at hand wherever
the definition is made.
"""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import msgspec


def field_texts(kind: type[msgspec.Struct]) -> dict[str, str]:
    """Return what stands below each field of a class, on one line."""
    (definition,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(definition, ast.ClassDef)
    texts = {}
    for statement, below in zip(definition.body, definition.body[1:], strict=False):
        match statement, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                texts[name] = " ".join(text.split())
    return texts


def struct_text(kind: type[msgspec.Struct]) -> str:
    """Return what a class says of itself, on one line."""
    return " ".join((kind.__doc__ or "").split())
