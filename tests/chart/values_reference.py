"""What is made from `values.yaml`: the schema that values are checked by, and the table in the chart's README.

`make chart` writes both anew.

The comment above a key is its description. Its type is that of its default, and a line `@schema {…}` in the comment
says what the default does not show. A key without a comment has that of the same key in a component before: what all
components have is described once. Maps that are not told otherwise are closed.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

CHART: Final = Path(__file__).resolve().parents[2] / "charts" / "aviso"
VALUES: Final = CHART / "values.yaml"
SCHEMA: Final = CHART / "values.schema.json"
README: Final = CHART / "README.md"

_MARK: Final = "@schema "
_BEGIN: Final = "<!-- values -->\n"
_END: Final = "<!-- end of values -->\n"
_LONGEST_DEFAULT: Final = 60

_TEXTS: Final = {"type": "object", "additionalProperties": {"type": "string"}}
_PART: Final = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "cores": {"type": "integer", "minimum": 1},
        "coreRequest": {"type": "string"},
        "memory": {"type": "string", "pattern": "^[0-9]+[kmgt]$"},
    },
}
# Shapes that values have in common. A job of Spark is declared by its user, so it has no default to be read from.
DEFINITIONS: Final[Mapping[str, Any]] = {
    "texts": _TEXTS,
    "named": {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string", "minLength": 1}},
    },
    "port": {"type": "integer", "minimum": 1, "maximum": 65535},
    "quantity": {"type": "string", "pattern": "^[0-9]+(Ki|Mi|Gi|Ti|k|M|G|T)?$"},
    "resources": {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "requests": {"type": "object"},
            "limits": {"type": "object"},
            "claims": {"type": "array"},
        },
    },
    "sparkJob": {
        "type": "object",
        "additionalProperties": False,
        "required": ["runner"],
        "properties": {
            "runner": {
                "description": "apache and kubeflow are the two operators; client is a Job that is the driver itself.",
                "enum": ["apache", "kubeflow", "client"],
            },
            "namespace": {"description": "One of spark.namespaces; the first.", "type": "string"},
            "arguments": {
                "description": "Of the main file.",
                "type": "array",
                "items": {"type": ["string", "number"]},
            },
            "executors": {"description": "How many.", "type": "integer", "minimum": 1},
            "driver": _PART,
            "executor": _PART,
            "retries": {"description": "How often a job is begun anew.", "type": "integer", "minimum": 0},
            "keepSeconds": {
                "description": "How long it is kept when it is over.",
                "type": "integer",
                "minimum": 0,
            },
            "sparkConf": {"description": "Settings of Spark.", **_TEXTS},
            "env": {
                "description": "Variables of driver and executors.",
                "type": "array",
                "items": {"type": "object"},
            },
            "volumes": {
                "description": "Volumes of driver and executors.",
                "type": "array",
                "items": {"type": "object"},
            },
            "volumeMounts": {"description": "Where they are.", "type": "array", "items": {"type": "object"}},
        },
    },
}


class Value(NamedTuple):
    """One value: where it is, its default, what is said of it, and the values below it."""

    path: tuple[str, ...]
    default: Any
    text: str
    schema: Mapping[str, Any]
    below: tuple[Value, ...]

    @property
    def is_group(self) -> bool:
        """Whether only what is below it can be set."""
        return bool(self.below)


class Undocumented(Exception):
    """A value about which nothing is said."""


def read_values(text: str) -> tuple[Value, ...]:
    """Return the values of a file, or raise `Undocumented`."""
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(node, yaml.MappingNode)
    return tuple(_Reader(text.splitlines()).read(node, ()))


class _Reader:
    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        # By what follows the component.
        self._said: dict[tuple[str, ...], tuple[str, Mapping[str, Any]]] = {}

    def read(self, node: yaml.MappingNode, path: tuple[str, ...]) -> Iterator[Value]:
        for key, value in node.value:
            here = (*path, str(key.value))
            text, schema = self._comment(key.start_mark.line)
            if not text:
                if here[1:] not in self._said:
                    raise Undocumented(".".join(here))
                text, known = self._said[here[1:]]
                schema = schema or known
            self._said.setdefault(here[1:], (text, schema))
            default = yaml.safe_load(yaml.serialize(value))
            is_open = "$ref" in schema or "additionalProperties" in schema
            below = (
                () if is_open or not isinstance(value, yaml.MappingNode) else tuple(self.read(value, here))
            )
            yield Value(here, default, text, schema, below)

    def _comment(self, line: int) -> tuple[str, Mapping[str, Any]]:
        """Return what the lines directly above one say."""
        above: list[str] = []
        while line and re.match(r"\s*#", self._lines[line - 1]):
            line -= 1
            above.insert(0, self._lines[line].strip().removeprefix("#").strip())
        said = [one for one in above if not one.startswith(_MARK)]
        schemas = [json.loads(one.removeprefix(_MARK)) for one in above if one.startswith(_MARK)]
        return " ".join(said), schemas[0] if schemas else {}


# --- the schema ------------------------------------------------------------------------------------------


def schema_text(values: Sequence[Value]) -> str:
    """Return the schema of values, as a file."""
    whole = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Values of the chart aviso",
        **_closed(values),
        "$defs": DEFINITIONS,
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _closed(values: Sequence[Value]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {value.path[-1]: _schema_of(value) for value in values},
    }


def _schema_of(value: Value) -> dict[str, Any]:
    if "$ref" in value.schema:
        # Beside a reference nothing else is looked at in this version of JSON Schema.
        return {"description": value.text, "allOf": [dict(value.schema)]}
    if value.is_group:
        return {"description": value.text, **_closed(value.below)}
    of_default = {} if value.schema.keys() & {"enum", "type"} else {"type": _type_of(value)}
    return {"description": value.text, **of_default, **value.schema}


def _type_of(value: Value) -> str:
    match value.default:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            assert "additionalProperties" in value.schema, f"say what {'.'.join(value.path)} may hold"
            return "object"
    raise AssertionError(f"the default of {'.'.join(value.path)} does not tell its type: say it")


# --- the table -------------------------------------------------------------------------------------------


def table_text(values: Sequence[Value]) -> str:
    """Return the section of the README: a table for each group at the top, and one for what belongs to none."""
    alone = [value for value in values if not value.is_group]
    parts = [_table(alone)]
    parts += [
        f"### {value.path[0]}\n\n{value.text}\n\n{_table(value.below)}" for value in values if value.is_group
    ]
    return "\n".join(parts)


def _table(values: Sequence[Value]) -> str:
    rows = [f"| `{'.'.join(one.path)}` | {_shown(one.default)} | {_told(one)} |" for one in _single(values)]
    return "\n".join(["| Value | Default | Meaning |", "| --- | --- | --- |", *rows, ""])


def _single(values: Sequence[Value]) -> Iterator[Value]:
    for value in values:
        if value.is_group:
            yield from _single(value.below)
        else:
            yield value


def _shown(default: object) -> str:
    text = json.dumps(default, ensure_ascii=False)
    return f"`{text}`" if len(text) <= _LONGEST_DEFAULT else "see values.yaml"


def _told(value: Value) -> str:
    choices = value.schema.get("enum")
    text = (
        value.text if choices is None else f"{value.text} One of {', '.join(f'`{one}`' for one in choices)}."
    )
    return text.replace("|", "\\|")


def with_table(readme: str, table: str) -> str:
    """Return the README with its table in the place of the one that it has."""
    before, rest = readme.split(_BEGIN)
    _, after = rest.split(_END)
    return f"{before}{_BEGIN}\n{table}\n{_END}{after}"


def main() -> int:
    """Write both files anew."""
    values = read_values(VALUES.read_text(encoding="utf-8"))
    SCHEMA.write_text(schema_text(values), encoding="utf-8")
    README.write_text(with_table(README.read_text(encoding="utf-8"), table_text(values)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
