"""The reference page of the operator, made from the code: command line, conditions and their reasons, metrics, rights.

`python -m aviso_operator.reference docs/reference` writes it anew. What a reason means to whoever reads it in a status
stands here and nowhere else; a test holds the table to the reasons that the code can give.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from aviso_operator.metrics import Metrics
from aviso_operator.options import help_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_HEAD: Final = """\
# Operator

<!-- Made by `python -m aviso_operator.reference docs/reference`: change the code, not this page. -->

How to work with it is told in [Event types in a cluster](../how-to/event-types-in-a-cluster.md). How the broker is
reached, what streams are like by default and what is logged is the services' [configuration](configuration.md): of it
the operator obeys `notification_backend.jetstream` and `logging`, from the same files and variables.

It answers `/healthz` (well while everything is looked at again and again), `/readyz` (it knows all objects, and the
broker is there) and `/metrics` at `--listen`. What it must be allowed to do is the list of rules in
[operator.yaml](../../charts/aviso/files/rbac/operator.yaml), in each namespace that it watches or in the whole cluster.
"""

_CONDITIONS: Final = """\
## Conditions

`Ready`, `Accepted`, `StreamReady` and `Propagated` are always there, the others only while they are true. Each names
the generation that it is about. `Ready` that is not true has the reason of the first of the other three that is not.
"""

_METRICS: Final = """\
## Metrics

Every series whose labels are known is there from the start, at zero.
"""


class Reason(NamedTuple):
    """One reason that a condition can have."""

    condition: str
    status: str
    reason: str
    meaning: str


_PAUSED: Final = "`spec.reconcilePolicy` is `Paused`: nobody looks."
_UNREACHABLE: Final = "The broker does not answer. It is tried again; what is served goes on."

REASONS: Final = (
    Reason("Ready", "True", "Ready", "This generation is served by every process."),
    Reason("Ready", "False", "NotPublished", "This generation is not published yet."),
    Reason("Accepted", "True", "Accepted", "The schema can be served."),
    Reason(
        "Accepted",
        "False",
        "InvalidSchema",
        "The message names each fault and its place. Correct the manifest.",
    ),
    Reason(
        "Accepted",
        "False",
        "Conflicted",
        "Another object holds the event type or the topic base; the message names it. Rename one, or delete the other.",
    ),
    Reason(
        "Accepted",
        "False",
        "Incompatible",
        "It would break those who use the published version, which stays in force. `compatibility: None` means it.",
    ),
    Reason("Accepted", "Unknown", "NatsUnreachable", _UNREACHABLE),
    Reason("Accepted", "Unknown", "Paused", _PAUSED),
    Reason("StreamReady", "True", "Programmed", "The stream is as wanted."),
    Reason("StreamReady", "True", "DriftCorrected", "Somebody had changed the stream; it was changed back."),
    Reason(
        "StreamReady",
        "False",
        "ForeignStream",
        "The stream belongs to nobody or to somebody else. The annotation `aviso.dev/adopt-stream` takes it over.",
    ),
    Reason(
        "StreamReady",
        "False",
        "WouldLoseData",
        "The change deletes stored messages at once. `storage.shrink: Allow` means it.",
    ),
    Reason(
        "StreamReady",
        "False",
        "ImmutableStreamField",
        "The broker cannot change that of a stream that exists. Take it back, or delete the stream.",
    ),
    Reason(
        "StreamReady", "False", "SubjectOverlap", "Another stream has these subjects already (NATS 10065)."
    ),
    Reason(
        "StreamReady",
        "False",
        "InsufficientReplicas",
        "The broker has not as many servers with room as `storage.replicas` (NATS 10074, 10005).",
    ),
    Reason("StreamReady", "False", "RefusedByBroker", "The broker says why in the message."),
    Reason(
        "StreamReady",
        "False",
        "ObserveOnly",
        "`spec.reconcilePolicy` is `Observe`; the message tells what would be done.",
    ),
    Reason("StreamReady", "Unknown", "NotAccepted", "See `Accepted`."),
    Reason("StreamReady", "Unknown", "NatsUnreachable", _UNREACHABLE),
    Reason("StreamReady", "Unknown", "Paused", _PAUSED),
    Reason("Propagated", "True", "AllReplicas", "Every process that is alive serves the published revision."),
    Reason("Propagated", "False", "NotPublished", "Nothing is published for this object."),
    Reason("Propagated", "False", "NoReplicas", "It is published, and no service is there."),
    Reason(
        "Propagated",
        "False",
        "WaitingForReplicas",
        "Some have not taken it yet; that takes less than a second.",
    ),
    Reason(
        "Propagated",
        "False",
        "AckTimeout",
        "Some have not taken it for 30 s. Look at these pods: they follow the registry no more.",
    ),
    Reason(
        "Propagated",
        "False",
        "ReplicaRejected",
        "Some cannot serve it and go on with what they had; the message says why. Often their version is older.",
    ),
    Reason("Reconciling", "True", "Progressing", "It is being worked on; nobody need do anything."),
    Reason("Stalled", "True", "UserActionNeeded", "It stays so until somebody does what the message says."),
    Reason("Stalled", "True", "RetriesExhausted", "It has failed again and again; it is tried now and then."),
    Reason(
        "Drifted", "True", "ConfigDiffers", "The stream differs from the wanted; the message tells in what."
    ),
)


def page() -> str:
    """Return the page."""
    commands = [f"## {name}\n\n```text\n{text.rstrip()}\n```\n" for name, text in help_texts().items()]
    reasons = [(f"`{one.condition}`", one.status, f"`{one.reason}`", one.meaning) for one in REASONS]
    return "\n".join(
        [
            _HEAD,
            *commands,
            _CONDITIONS,
            _table(("Condition", "Status", "Reason", "Meaning"), reasons),
            _METRICS,
            _table(("Series", "Kind", "Labels", "Meaning"), _metrics()),
        ]
    )


def _metrics() -> Iterable[Sequence[str]]:
    metrics = Metrics(version="")
    # The one whose labels nobody knows before.
    metrics.published("", 0)
    text = metrics.render(ready={}, resync_age_seconds=0, requests=0).decode()
    for family in text_string_to_metric_families(text):
        if family.name.endswith("_created"):
            # The command leaves these out.
            continue
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        shown = ", ".join(f"`{label}`" for label in sorted(labels))
        yield f"`{name}`", family.type, shown, family.documentation


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def main(folder: Path) -> None:
    """Write the page into a folder."""
    (folder / "operator.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
