"""Where in a file a setting stands, for messages about what was read from it.

Reading keeps no lines, because nearly always nobody asks. Here the file is gone through once more, and only after it
was read without a fault, which is what bounds the depth of what is looked at.
"""

from __future__ import annotations

import yaml

from aviso_core.plain.decode import below
from aviso_core.plain.yaml_mapping import FASTEST_PARSER


def lines_of_document(content: bytes, begins_at: int) -> Lines:
    """Return the lines of the document that begins on a line."""
    try:
        roots = list(yaml.compose_all(content.decode("utf-8-sig"), Loader=FASTEST_PARSER))
    except (UnicodeDecodeError, yaml.YAMLError):
        # JSON that YAML does not take: the beginning is all there is.
        roots = []
    return Lines(next((root for root in roots if _line(root) == begins_at), None), begins_at)


class Lines:
    """The lines of one document."""

    def __init__(self, root: yaml.Node | None, begins_at: int) -> None:
        self._root = root
        self._begins_at = begins_at

    def line_of(self, path: str) -> int:
        """Return the line of a setting, or of the innermost block around it that is there."""
        line, node, reached = self._begins_at, self._root, ""
        while node is not None:
            step = next((step for step in _members(node, reached) if _leads_to(step[0], path)), None)
            if step is None:
                break
            reached, line, node = step
        return line


def _members(node: yaml.Node, path: str) -> list[tuple[str, int, yaml.Node]]:
    """Return the path, the line and the value of each member."""
    if isinstance(node, yaml.MappingNode):
        return [
            (below(path, key.value), _line(key), value)
            for key, value in node.value
            if isinstance(key, yaml.ScalarNode)
        ]
    if isinstance(node, yaml.SequenceNode):
        return [(f"{path}[{place}]", _line(item), item) for place, item in enumerate(node.value)]
    return []


def _leads_to(step: str, path: str) -> bool:
    return path == step or path.startswith((f"{step}.", f"{step}["))


def _line(node: yaml.Node) -> int:
    return node.start_mark.line + 1
