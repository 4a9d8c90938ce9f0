"""Files of YAML: bytes in, mappings of plain values out, or the fault with its line.

A configuration is one mapping (`read_mapping`); manifests may share a file (`read_mappings`).

PyYAML's parser does the parsing. The values are built here, from its events, because of what its constructors do:

- They read YAML 1.1, in which the country code `no` is false, `010` is eight and `1:30` is ninety. Files written for
  the reference server mean YAML 1.2, so that is what is read.
- They raise whatever the making of a value raises, recurse as deep as the file nests, and expand aliases without end.
  Here depth and expanded size are bounded, and there is one way to fail.

A plain scalar is a whole number only in a number's usual spelling: `0042` stays text, so that a password or an
experiment version made of digits survives; where a number is wanted, text of digits is taken as well.

A key that appears twice in one mapping has its last value, as YAML libraries commonly do it. The merge key `<<` is
understood. Keys are text as written: `1`, `no` and `~` are the keys "1", "no" and "~".

Messages never repeat what stands in the file: an unquoted password that begins with `*` or `!` is an alias or a tag.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

import yaml

from aviso_core.errors import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

# No configuration nests deeper, and what works on the values may recurse.
MAX_DEPTH: Final = 64
# Characters and values once all aliases are written out: far above any configuration, far below a bomb.
MAX_EXPANDED_SIZE: Final = 16 * 1024 * 1024
# Manifests in one file: more than a cluster has.
MAX_DOCUMENTS: Final = 1000

# PyYAML can be built without libyaml; its own parser is slower and takes a little more.
FASTEST_PARSER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CORE_TAG: Final = "tag:yaml.org,2002:"
_TAG_OF: Final = {type(None): "null", bool: "bool", int: "int", float: "float", str: "str"}
_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,19}", re.ASCII)
_FLOAT: Final = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+", re.ASCII
)
_NOT_FINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", re.ASCII)
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"")
# Marks of YAML's own, which a parser quotes because it misses them.
_MARK: Final = re.compile(r"'(?:[\[\]{},:?-]|<[a-z ]+>)'")


def read_mapping(
    content: bytes, *, name: str, parser: type = FASTEST_PARSER
) -> tuple[dict[str, object], Fault | None]:
    """Return the mapping of a file, or what is wrong with it; a file without any value is an empty mapping."""
    documents, trouble = _read(content, parser, most=1)
    if trouble is not None:
        return {}, _fault(name, trouble)
    value = documents[0].value if documents else None
    if value is None or isinstance(value, dict):
        return value or {}, None
    return {}, Fault(path=name, message="is not a mapping", remedy="write settings as 'key: value'")


class Document(NamedTuple):
    """One mapping of a file, and the line on which it begins."""

    mapping: dict[str, object]
    line: int


def read_mappings(
    content: bytes, *, name: str, parser: type = FASTEST_PARSER
) -> tuple[list[Document], Fault | None]:
    """Return the mappings of a file with any number of documents, or what is wrong with it.

    Documents without any value are passed over, as they are left behind by a separator at either end.
    """
    documents, trouble = _read(content, parser, most=MAX_DOCUMENTS)
    mappings = []
    for value, line in documents:
        if isinstance(value, dict):
            mappings.append(Document(value, line))
        elif value is not None:
            trouble = trouble or _Trouble(line, "is not a mapping", "write 'key: value'")
    return ([], _fault(name, trouble)) if trouble else (mappings, None)


def _fault(name: str, trouble: _Trouble) -> Fault:
    path = f"{name}, line {trouble.line}"
    return Fault(path=path, message=trouble.message, remedy=trouble.remedy)


class _Trouble(NamedTuple):
    line: int
    message: str
    remedy: str


class _Read(NamedTuple):
    value: object
    line: int


def _read(content: bytes, parser: type, *, most: int) -> tuple[list[_Read], _Trouble | None]:
    try:
        return _Builder(yaml.parse(content.decode("utf-8-sig"), parser)).documents(most), None
    except UnicodeDecodeError as error:
        return [], _Trouble(_line_at(content, error.start), "is not UTF-8 text", "save the file as UTF-8")
    except yaml.reader.ReaderError as error:
        # libyaml counts bytes, and PyYAML's own parser characters; that line may be a few too early.
        line = _line_at(content, error.position)
        return [], _Trouble(line, "has a character that YAML forbids", "remove that character")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = _QUOTED.sub(_shown, error.problem or "it cannot be read")
        line = mark.line + 1 if mark is not None else 1
        return [], _Trouble(line, f"is not YAML: {problem}", "mend the file around that line")
    except _NotTaken as error:
        return [], error.trouble


def _shown(quoted: re.Match[str]) -> str:
    return quoted[0] if _MARK.fullmatch(quoted[0]) else "…"


def resolve(text: str) -> bool | int | float | str | None:
    """Return the value of a plain scalar, by the core schema of YAML 1.2."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _NOT_FINITE.fullmatch(text):
        return float(text.replace(".", ""))
    return text


class _NotTaken(Exception):
    """YAML that is not taken here."""

    def __init__(self, event: yaml.Event, message: str, remedy: str) -> None:
        super().__init__(message)
        self.trouble = _Trouble(_line_of(event), message, remedy)


class _Built(NamedTuple):
    """A value, how much it is with all aliases written out, and how deep it nests."""

    value: object
    size: int
    height: int


class _Builder:
    """The values of one file, made from its events in one pass."""

    def __init__(self, events: Iterator[yaml.Event]) -> None:
        self._events = events
        self._anchors: dict[str, _Built] = {}

    def documents(self, most: int) -> list[_Read]:
        """Return the value of each document."""
        documents: list[_Read] = []
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                if len(documents) == most:
                    raise _too_many(event, most)
                begin = next(self._events)
                documents.append(_Read(self._build(begin, 0).value, _line_of(begin)))
                self._anchors.clear()
        return documents

    def _build(self, event: yaml.Event, depth: int) -> _Built:
        assert isinstance(event, yaml.NodeEvent), "the parser closes what it opens"
        built = self._built(event, depth)
        if depth + built.height > MAX_DEPTH:
            raise _too_deep(event)
        if built.size > MAX_EXPANDED_SIZE:
            message = f"is larger than {MAX_EXPANDED_SIZE} characters once its aliases are expanded"
            raise _NotTaken(event, message, "use fewer aliases")
        if event.anchor is not None:
            self._anchors[event.anchor] = built
        return built

    def _built(self, event: yaml.NodeEvent, depth: int) -> _Built:
        match event:
            case yaml.ScalarEvent():
                return _Built(_scalar(event), len(event.value) + 1, 0)
            case yaml.AliasEvent():
                return self._alias(event)
            case yaml.SequenceStartEvent():
                return self._sequence(event, depth)
            case yaml.MappingStartEvent():
                return self._mapping(event, depth)
        raise AssertionError(f"no value begins with {type(event).__name__}")

    def _alias(self, event: yaml.AliasEvent) -> _Built:
        # A node is known once it has ended, so an alias inside of the node that it names is refused here too.
        built = self._anchors.get(event.anchor or "")
        if built is None:
            raise _NotTaken(
                event, "has an alias to nothing that is complete there", "quote text that begins with *"
            )
        return built

    def _sequence(self, start: yaml.SequenceStartEvent, depth: int) -> _Built:
        _check_tag(start, "seq")
        items = [
            self._build(event, depth + 1) for event in self._members(start, yaml.SequenceEndEvent, depth)
        ]
        return _Built(
            [item.value for item in items],
            1 + sum(item.size for item in items),
            1 + max((item.height for item in items), default=0),
        )

    def _mapping(self, start: yaml.MappingStartEvent, depth: int) -> _Built:
        _check_tag(start, "map")
        own: dict[str, object] = {}
        merged: dict[str, object] = {}
        size, height = 1, 0
        for event in self._members(start, yaml.MappingEndEvent, depth):
            key = self._build(event, depth + 1)
            value = self._build(next(self._events), depth + 1)
            size += key.size + value.size
            height = max(height, value.height)
            if not isinstance(event, yaml.ScalarEvent):
                raise _NotTaken(event, "has a key that is not plain text", "write a name as the key")
            if event.value == "<<" and event.implicit[0]:
                merged |= _merged(value.value, event)
            else:
                own[event.value] = value.value
        return _Built(merged | own, size, height + 1)

    def _members(
        self, start: yaml.Event, end: type[yaml.CollectionEndEvent], depth: int
    ) -> Iterator[yaml.Event]:
        """Yield the events that begin the members of a collection; building each takes the rest of its own."""
        if depth >= MAX_DEPTH:
            raise _too_deep(start)
        for event in self._events:
            if isinstance(event, end):
                return
            yield event


def _merged(value: object, event: yaml.Event) -> dict[str, object]:
    """Return what `<<: value` brings: of several mappings, the first one that has a key wins."""
    brought: dict[str, object] = {}
    for mapping in value if isinstance(value, list) else [value]:
        if not isinstance(mapping, dict):
            raise _NotTaken(event, "merges (<<) what is not a mapping", "merge mappings only")
        brought = mapping | brought
    return brought


def _scalar(event: yaml.ScalarEvent) -> object:
    if event.tag is None:
        return resolve(event.value) if event.implicit[0] else event.value
    if event.tag in ("!", f"{_CORE_TAG}str"):
        return event.value
    value = resolve(event.value)
    if event.tag != f"{_CORE_TAG}{_TAG_OF[type(value)]}":
        raise _unknown_tag(event)
    return value


def _check_tag(event: yaml.CollectionStartEvent, kind: str) -> None:
    if event.tag not in (None, "!", f"{_CORE_TAG}{kind}"):
        raise _unknown_tag(event)


def _too_deep(event: yaml.Event) -> _NotTaken:
    return _NotTaken(event, f"nests deeper than {MAX_DEPTH} levels", "flatten the file")


def _too_many(event: yaml.Event, most: int) -> _NotTaken:
    if most == 1:
        return _NotTaken(event, "begins a second document", "keep one document in the file")
    return _NotTaken(event, f"has more than {most} documents", "use several files")


def _unknown_tag(event: yaml.Event) -> _NotTaken:
    return _NotTaken(event, "has a tag that is not taken", "remove the tag, or quote text that begins with !")


def _line_of(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark is not None else 1


def _line_at(content: bytes, position: int) -> int:
    return content.count(b"\n", 0, position) + 1
