"""Event types without a schema, where the configuration lets them through (contract section 14).

Anything scalar is taken. The topic is made of all values in the order of their names, so a reader must name exactly
the publisher's fields; which value belongs to which name cannot be told from the log, and therefore such events are
stored and matched but not rendered.
"""

from __future__ import annotations

from aviso_core.errors import InvalidConstraint
from aviso_core.fields.base import Operation, not_empty, scalar_text
from aviso_core.schema.event_type import Announced
from aviso_core.topic.base import check_base
from aviso_core.topic.codec import encode_subject


def announce_undeclared(
    event_type: str, identifier: dict[str, object], operation: Operation = "notify"
) -> Announced:
    """Check the identifier of a notification of an undeclared event type, or of what takes one back."""
    base = check_base(event_type)
    values = {
        name: not_empty(name, undeclared_text(name, identifier[name], operation))
        for name in sorted(identifier)
    }
    return Announced(subject=encode_subject(base, list(values.values())), identifier=values)


def undeclared_text(name: str, value: object, operation: Operation) -> str:
    """Return the text of a value that no field judges."""
    if isinstance(value, dict) and operation in ("watch", "replay"):
        raise InvalidConstraint(
            f"Field '{name}' constraint object is not supported without schema", field=name
        )
    return scalar_text(name, value, operation)
