"""Previews as people read them: what there is, what would be done, what stands in the way, what it would cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aviso_all_in_one.comparison import change_text, fault_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aviso_all_in_one.live.preview import Loss, Now, Preview, Process

_WIDTH: Final = 10
_MOST_NAMES: Final = 5


def live_lines(previews: Sequence[Preview]) -> Iterator[str]:
    """Yield the lines of all manifests, and the verdict."""
    for preview in previews:
        yield f"{preview.event_type} ({preview.place}), as EventSchema {preview.owner}"
        for title, texts in _parts(preview):
            for place, text in enumerate(texts):
                yield f"  {title if place == 0 else '':<{_WIDTH}}  {text}"
        yield ""
    yield _verdict(previews)


def _parts(preview: Preview) -> Iterator[tuple[str, Sequence[str]]]:
    yield "now", [_now(preview.now)]
    yield "served by", [_served(preview.processes)]
    yield "would do", _actions(preview)
    yield "refused", [f"{one.reason}: {one.message}" for one in preview.obstacles]
    yield "loses", [_loss(one, preview.now.messages) for one in preview.losses]
    yield "breaks", [f"{one.path}: {fault_text(one)}" for one in preview.breaks]
    yield "changes", [f"{one.path}: {change_text(one)}" for one in preview.changes]


def _now(now: Now) -> str:
    stream = f"stream {now.stream} with {now.messages} messages" if now.stream else "no stream"
    match now.state:
        case "none":
            return f"never published; {stream}"
        case "withdrawn":
            return f"withdrawn at revision {now.revision}; {stream}"
        case "unreadable":
            return f"revision {now.revision}, which this avisod cannot read{_for(now.owner)}; {stream}"
    return f"revision {now.revision}{_for(now.owner)}; {stream}"


def _for(owner: str) -> str:
    return f" for EventSchema {owner}" if owner else ""


def _served(processes: Sequence[Process]) -> str:
    """Return who serves the published version, and by name who does not."""
    if not processes:
        return "no process that is alive"
    current = [one for one in processes if one.standing.state == "current"]
    others = [_standing(one) for one in processes if one.standing.state != "current"]
    names = ", ".join(one.name for one in current[:_MOST_NAMES]) + (
        ", …" if len(current) > _MOST_NAMES else ""
    )
    text = f"{len(current)} of {len(processes)} processes{f': {names}' if names else ''}"
    return "; ".join([text, *others])


def _standing(process: Process) -> str:
    standing = process.standing
    if standing.state == "rejected":
        return f"{process.name} refuses revision {standing.revision}: {standing.error}"
    return f"{process.name} is at revision {standing.revision}"


def _actions(preview: Preview) -> Sequence[str]:
    if not preview.actions:
        return ["nothing"]
    match preview.policy:
        case "Observe":
            return [*preview.actions, "but reconcilePolicy is Observe: it is compared, and nothing is done"]
        case "Paused":
            return [*preview.actions, "but reconcilePolicy is Paused: nothing is done"]
    return preview.actions


def _loss(loss: Loss, messages: int) -> str:
    number = f"{loss.at_most}" if loss.is_exact else f"up to {loss.at_most}"
    allowed = "" if loss.is_planned else ", once spec.storage.shrink is Allow"
    return f"{number} of {messages} messages by {loss.setting}{allowed}"


def _verdict(previews: Sequence[Preview]) -> str:
    harmful = [one.event_type for one in previews if not one.is_harmless]
    if harmful:
        return f"not without harm: {', '.join(harmful)}"
    changed = sum(bool(one.actions) for one in previews)
    return f"harmless: {changed} of {len(previews)} would change, and nobody loses anything by it"
