"""What the API server checks beyond the shape, in CEL, each rule beside the path that it stands at.

A rule without `oldSelf` says of a new object what `aviso_core.schema.manifest_rules` says of a manifest, in the same
words. A rule with it is about a change. Rules are weighed before they are taken: every list and text below them has a
bound, and what two lists have to do with each other is asked as seldom as possible.

Things to know before adding one:
- A rule with `oldSelf` is not asked where a member comes or goes: its presence is a rule of the object around it.
- `[]` in a path stands for each entry. Only entries of a list with names have an old self.
- What a rule sees has all its defaults.
"""

from __future__ import annotations

from typing import Final

import msgspec

from aviso_core.schema.manifest_parts import EVENT_TYPE_NAME
from aviso_core.schema.manifest_rules import RESERVED_NAMES, SETTINGS, SHAPE_NAMES


class Rule(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One rule. `field_path` is the member that is at fault, seen from where the rule stands."""

    rule: str
    message: str
    message_expression: str | None = None
    field_path: str | None = None


def _listed(words: tuple[str, ...]) -> str:
    return "[" + ", ".join(f"'{word}'" for word in words) + "]"


def _never_changes(because: str) -> Rule:
    return Rule(rule="self == oldSelf", message=f"it can never be changed: {because}")


_SHAPES: Final = _listed(tuple(SHAPE_NAMES.values()))
_LOSES: Final = "deletes stored events at once: set storage.shrink: Allow to mean it"
_PROMISE: Final = "while compatibility is Backward"

_OBJECT: Final = (
    Rule(
        rule="size(self.metadata.name) <= 63",
        message="must have at most 63 characters: it stands in labels",
        field_path=".metadata.name",
    ),
    Rule(
        rule=f"has(self.spec.eventType) || self.metadata.name.matches('{EVENT_TYPE_NAME.pattern}')",
        message="it is no event type: set spec.eventType, for example with '_' where the name has '-'",
        message_expression='"\'" + self.metadata.name + "\' is no event type: '
        "set spec.eventType, for example with '_' where the name has '-'\"",
        field_path=".metadata.name",
    ),
)

_SPEC: Final = (
    Rule(
        rule="has(self.eventType) == has(oldSelf.eventType)",
        message="spec.eventType can neither be added nor removed: publishers and readers call it so",
    ),
    Rule(
        rule="self.topic.keyOrder.all(k, self.identifiers.exists(i, i.name == k))",
        message="every topic.keyOrder entry must name a declared identifier",
        message_expression="'every topic.keyOrder entry must name a declared identifier, \\'' + "
        "self.topic.keyOrder.filter(k, !self.identifiers.exists(i, i.name == k))[0] + '\\' does not'",
        field_path=".topic.keyOrder",
    ),
    Rule(
        rule=" || ".join(f"!self.identifiers.exists(i, i.name == '{name}')" for name in SHAPE_NAMES.values()),
        message="an event type has one shape: polygon or point_cloud, not both",
        field_path=".identifiers",
    ),
)

# What a change would break: judged again, and in full, against what is published.
_BACKWARD: Final = (
    Rule(
        rule="oldSelf.identifiers.all(o, self.identifiers.exists(n, n.name == o.name))",
        message=f"identifiers cannot be removed {_PROMISE}: producers that send them would be refused",
        field_path=".identifiers",
    ),
    Rule(
        rule="self.identifiers.all(n, has(n.default) || oldSelf.identifiers.exists(o, o.name == n.name))",
        message=f"a new identifier needs a default {_PROMISE}: "
        "producers that do not know it would be refused",
        field_path=".identifiers",
    ),
    Rule(
        rule="self.identifiers.all(n, !n.required || "
        "oldSelf.identifiers.exists(o, o.name == n.name && o.required))",
        message=f"an identifier cannot become required {_PROMISE}: readers that leave it out would be refused",
        field_path=".identifiers",
    ),
    Rule(
        rule="oldSelf.identifiers.all(o, !has(o.default) || self.identifiers.all(n, "
        "n.name != o.name || (has(n.default) && n.default == o.default)))",
        message=f"a default can be neither changed nor removed {_PROMISE}: "
        "producers that leave it out mean it",
        field_path=".identifiers",
    ),
    Rule(
        rule="self.geometry.edges == oldSelf.geometry.edges",
        message=f"geometry.edges cannot be changed {_PROMISE}: stored shapes would mean something else",
        field_path=".geometry.edges",
    ),
    Rule(
        rule="!self.payload.required || oldSelf.payload.required",
        message=f"a payload cannot become required {_PROMISE}: producers may send none",
        field_path=".payload.required",
    ),
    Rule(
        rule="self.payload.maxBytes >= oldSelf.payload.maxBytes",
        message=f"payload.maxBytes cannot be lowered {_PROMISE}: producers may send as much as before",
        field_path=".payload.maxBytes",
    ),
)

_KEY_ORDER: Final = (
    _never_changes("stored subjects follow it"),
    Rule(rule="self.all(k, self.exists_one(o, o == k))", message="topic.keyOrder names an identifier twice"),
    Rule(
        rule=f"!self.exists(k, k in {_SHAPES})",
        message="a shape cannot be routed on: remove polygon and point_cloud from topic.keyOrder",
        message_expression="'a shape cannot be routed on: remove \\'' + "
        f"self.filter(k, k in {_SHAPES})[0] + '\\' from topic.keyOrder'",
    ),
)

_IDENTIFIER: Final = (
    Rule(
        rule="self.type == oldSelf.type",
        message="it can never be changed: declare a new identifier",
        field_path=".type",
    ),
    Rule(
        rule=f"!(self.name in {_listed(RESERVED_NAMES)})",
        message="the identifier name is reserved",
        message_expression="'identifier name \\'' + self.name + '\\' is reserved'",
        field_path=".name",
    ),
    *(
        Rule(
            rule=f"(self.type == '{kind}') == (self.name == '{name}')",
            message=f"the identifier of type {kind} is called '{name}', and no other is",
            field_path=".name",
        )
        for kind, name in SHAPE_NAMES.items()
    ),
    Rule(
        rule=f"!has(self.default) || !(self.type in {_listed(tuple(SHAPE_NAMES))})",
        message="a shape cannot have a default",
        field_path=".default",
    ),
    Rule(
        rule="self.type != 'Enum' || has(self.enum)",
        message="type Enum needs enum.values",
        field_path=".enum",
    ),
    *(
        Rule(
            rule=f"!has(self.{block}) || self.type == '{kind}'",
            message=f"{block} settings need type {kind}",
            field_path=f".{block}",
        )
        for kind, (_, block) in SETTINGS.items()
    ),
)

_AUTH: Final = (
    Rule(
        rule="self.required || (!has(self.read) && !has(self.write))",
        message="role lists need auth.required: true",
    ),
    Rule(rule="self.required || !has(self.plugins)", message="plugins need auth.required: true"),
)

_STORAGE: Final = (
    Rule(
        rule="self.retention >= duration('1m') && self.retention <= duration('87600h')",
        message="retention must be 1m to 10 years",
        field_path=".retention",
    ),
    Rule(
        rule="!has(self.duplicateWindow) || "
        "(self.duplicateWindow >= duration('1s') && self.duplicateWindow <= self.retention)",
        message="duplicateWindow must be 1s up to the retention: what is gone cannot be recognised again",
        field_path=".duplicateWindow",
    ),
    Rule(
        rule="!has(self.maxBytes) || (quantity(string(self.maxBytes)).isGreaterThan(quantity('1Mi')) && "
        "!quantity(string(self.maxBytes)).isGreaterThan(quantity('1024Ti')))",
        message="maxBytes must be over 1Mi, and 1024Ti at most",
        field_path=".maxBytes",
    ),
    Rule(rule="!(self.medium == 'Memory' && self.compression)", message="compression needs File storage"),
    Rule(
        rule="self.shrink == 'Allow' || self.retention >= oldSelf.retention",
        message=f"a shorter retention {_LOSES}",
        field_path=".retention",
    ),
    Rule(
        rule="self.shrink == 'Allow' || !has(self.maxMessages) || "
        "(has(oldSelf.maxMessages) && self.maxMessages >= oldSelf.maxMessages)",
        message=f"a lower maxMessages {_LOSES}",
        field_path=".maxMessages",
    ),
    Rule(
        rule="self.shrink == 'Allow' || !has(self.maxBytes) || (has(oldSelf.maxBytes) && "
        "quantity(string(self.maxBytes)).compareTo(quantity(string(oldSelf.maxBytes))) >= 0)",
        message=f"a lower maxBytes {_LOSES}",
        field_path=".maxBytes",
    ),
    Rule(
        rule="self.shrink == 'Allow' || self.duplicates == oldSelf.duplicates || self.duplicates == 'KeepAll'",
        message=f"LatestPerSubject {_LOSES}",
        field_path=".duplicates",
    ),
)


def _in_order(block: str, number: str) -> Rule:
    return Rule(
        rule=f"!has(self.min) || !has(self.max) || {number.format('self.min')} <= {number.format('self.max')}",
        message=f"{block}.min must not exceed {block}.max",
    )


def _while_backward(rule: Rule) -> Rule:
    # Whoever sets None in the same edit means it.
    return msgspec.structs.replace(rule, rule=f"self.compatibility == 'None' || {_grouped(rule.rule)}")


def _grouped(rule: str) -> str:
    return f"({rule})" if "||" in rule else rule


# Where → what. The order is that of the definition.
RULES: Final[dict[str, tuple[Rule, ...]]] = {
    "": _OBJECT,
    "spec": (*_SPEC, *map(_while_backward, _BACKWARD)),
    "spec.eventType": (_never_changes("publishers and readers call it so"),),
    "spec.topic.base": (_never_changes("it is the root of stored subjects"),),
    "spec.topic.keyOrder": _KEY_ORDER,
    "spec.identifiers[]": _IDENTIFIER,
    "spec.identifiers[].enum.values": (
        Rule(rule="oldSelf.all(v, v in self)", message="enum values may only be added"),
    ),
    "spec.identifiers[].int": (_in_order("int", "{}"),),
    "spec.identifiers[].float": (_in_order("float", "double({})"),),
    "spec.auth": _AUTH,
    "spec.storage": _STORAGE,
    "spec.storage.medium": (_never_changes("what is stored cannot be moved"),),
}
