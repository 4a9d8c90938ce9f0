"""The reference pages that are made from the code: the command line and the configuration.

`python -m aviso_all_in_one.reference docs/reference` writes them anew. What a setting means stands once, below its
field in `aviso_core.settings.model`; Python forgets such texts, so they are read from the source.
"""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import inspect as shapes

from aviso_all_in_one.command.arguments import help_texts
from aviso_core.plain.decode import required_type, type_of
from aviso_core.plain.secret import Secret
from aviso_core.settings import model
from aviso_core.settings.environment import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MADE: Final = (
    "<!-- Made by `python -m aviso_all_in_one.reference docs/reference`: change the code, not this page. -->"
)

_CONFIGURATION: Final = f"""\
# Configuration

{_MADE}

A configuration file is YAML. Where files are looked for, and who wins where several say something, is told by
[`avisod serve --help`](cli.md#avisod-serve). `avisod check FILE` tells every fault of a file, each with its line.

Every single value can be set by an environment variable as well: `{PREFIX}`, then the names of the blocks and of the
key, joined by two underscores. `{PREFIX}WATCH_ENDPOINT__REPLAY_BATCH_SIZE=200` sets
`watch_endpoint.replay_batch_size`. Lists and mappings belong in a file. Truth values are `1 true on yes` and
`0 false off no`, in any case.

Unknown keys are refused in `auth`, in `ecpds`, and in the parts of an event type where a misspelt one would change what
is accepted; elsewhere they are ignored. A key without a value counts as absent.
"""

_COMMANDS: Final = f"""\
# Command line

{_MADE}

What `--help` says of each command. Every line that begins with `$` is run by the tests.
"""


def pages() -> dict[str, str]:
    """Return each page by the name of its file."""
    return {"cli.md": command_page(), "configuration.md": configuration_page()}


def command_page() -> str:
    """Return the page about the command line."""
    parts = [f"## {name}\n\n```text\n{text.rstrip()}\n```\n" for name, text in help_texts().items()]
    return "\n".join([_COMMANDS, *parts])


def configuration_page() -> str:
    """Return the page about the configuration: a section for each block, a row for each key."""
    return "\n".join([_CONFIGURATION, *_sections(model.Settings, "")])


def _sections(kind: type[msgspec.Struct], path: str) -> Iterator[str]:
    fields = type_of(kind).fields
    texts = field_texts(kind)
    blocks = {field.encode_name: found for field in fields if (found := _block(field.type)) is not None}
    rows = [_row(field, path, texts[field.name]) for field in fields if field.encode_name not in blocks]
    if rows:
        title = f"`{path}`" if path else "Beside the blocks"
        yield f"## {title}\n\n{inspect.cleandoc(kind.__doc__ or '')}\n\n{_table(rows)}"
    for name, (block, mark) in blocks.items():
        yield from _sections(block, f"{path}.{name}{mark}" if path else f"{name}{mark}")


def _block(described: shapes.Type) -> tuple[type[msgspec.Struct], str] | None:
    """Return the class of a block, and the mark of a list behind its name where there may be several."""
    match required_type(described):
        case shapes.StructType(cls=cls):
            return cls, ""
        case shapes.VarTupleType(item_type=shapes.StructType(cls=cls)):
            return cls, "[]"
    return None


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    lines = [("Key", "Value", "Default", "Meaning"), ("---",) * 4, *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def _row(field: shapes.Field, path: str, text: str) -> tuple[str, ...]:
    key = f"{path}.{field.encode_name}" if path else field.encode_name
    return f"`{key}`", _noun(field.type), _default(field), text.replace("|", "\\|")


def _noun(described: shapes.Type) -> str:
    match required_type(described):
        case shapes.LiteralType(values=values):
            return " or ".join(f"`{value}`" for value in sorted(map(str, values)))
        case shapes.BoolType():
            return "truth value"
        case shapes.IntType(ge=least, le=most):
            return f"{least} to {most}" if most is not None and most < 2**31 else f"whole number from {least}"
        case shapes.FloatType():
            return "number"
        case shapes.StrType():
            return "text"
        case shapes.VarTupleType():
            return "list"
        case shapes.DictType():
            return "mapping"
        case shapes.CustomType(cls=cls) if cls is Secret:
            return "text, never shown"
    raise AssertionError(f"no setting is of the type {described}")


def _default(field: shapes.Field) -> str:
    if field.required:
        return "required"
    value: Any = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    if value is None or value == Secret("") or value in ("", (), {}):
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def field_texts(kind: type[msgspec.Struct]) -> dict[str, str]:
    """Return what stands below each field of a class, on one line."""
    (definition,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(definition, ast.ClassDef)
    texts = {}
    for statement, next_one in zip(definition.body, definition.body[1:], strict=False):
        match statement, next_one:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                texts[name] = " ".join(text.split())
    return texts


def main(folder: Path) -> None:
    """Write all pages into a folder."""
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
