"""A filter that selects every event of a type whose readers must say something about a field."""

from __future__ import annotations

from typing import Any


def everything(answer: Any) -> dict[str, Any]:
    """Return it, of the contract's answer about an event type, decoded from its JSON; empty where nobody must."""
    fields = answer["schema"]["identifier"]
    return {name: _anything(handler) for name, handler in fields.items() if handler.get("required")}


def _anything(handler: Any) -> Any:
    match handler:
        case {"type": "EnumHandler", "values": values}:
            return {"in": values}
        case {"type": "IntHandler" | "FloatHandler", "range": ends}:
            return {"between": ends}
        case _:
            return "*"
