"""What somebody who has just installed is told: where it is, whether it works, and what is not as it should be."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

from chart.value_sets import SETS
from support.chart import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from support.chart import Rendered

PORT_FORWARD: Final = f"kubectl --namespace {NAMESPACE} port-forward service/aviso 8000:80"
TOKEN: Final = f"kubectl --namespace {NAMESPACE} create token aviso-admin --audience aviso"

SAID: Final[Mapping[str, tuple[str, ...]]] = {
    "nothing given": (
        f"http://aviso.{NAMESPACE}.svc\n",
        PORT_FORWARD,
        f"kubectl get eventschemas --namespace {NAMESPACE}",
        f"helm test aviso --namespace {NAMESPACE}",
        TOKEN,
        "WARNING: one NATS server",
        "acknowledged in the last 10s",
        "nats.replicas=3",
        "networkPolicy.enabled=true",
    ),
    "an Ingress": ("From outside     https://aviso.example.org",),
    "an HTTPRoute": ("From outside     https://aviso.example.org",),
    "the whole cluster": ("kubectl get eventschemas --all-namespaces", "declared in any namespace"),
    "other namespaces": ("declared in forecast, archive",),
    "nobody is known": ("WARNING: auth.enabled is false",),
    "a broker that takes everybody": ("WARNING: the broker takes everybody",),
}
UNSAID: Final[Mapping[str, tuple[str, ...]]] = {
    "nothing given": ("From outside", "auth.enabled is false"),
    "three servers": ("one NATS server",),
    "an Ingress": ("port-forward", "In the cluster"),
    "tokens of others": ("create token",),
    "nobody is known": ("create token",),
    "a broker with a token": ("takes everybody", "one NATS server"),
    "closed networks": ("networkPolicy.enabled",),
}


@pytest.mark.parametrize("name", SAID)
def test_what_concerns_a_release_is_said(releases: Mapping[str, Rendered], name: str) -> None:
    notes = releases[name].notes
    assert [words for words in SAID[name] if words not in notes] == [], notes


@pytest.mark.parametrize("name", UNSAID)
def test_what_does_not_concern_it_is_not_said(releases: Mapping[str, Rendered], name: str) -> None:
    notes = releases[name].notes
    assert [words for words in UNSAID[name] if words in notes] == [], notes


@pytest.mark.parametrize("name", SETS)
def test_notes_are_a_page_that_is_finished(releases: Mapping[str, Rendered], name: str) -> None:
    """Nothing is left empty, and nothing is far too long."""
    notes = releases[name].notes
    assert "<no value>" not in notes
    assert "<nil>" not in notes
    assert not re.search(r"\n{3,}", notes)
    assert len(notes.splitlines()) <= 30
