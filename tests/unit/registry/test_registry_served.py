"""What is served of the versions that a registry holds: the last good one of each event type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aviso_core.errors import UnknownEventType
from aviso_core.fields.text import TextField
from aviso_core.registry.served import VANISHED, Served, nothing_served, take_all, take_in
from aviso_core.schema.model import Topic
from support.registries import published, published_schema, schema, unreadable, withdrawn

if TYPE_CHECKING:
    from aviso_core.registry.base import Version
    from aviso_core.schema.model import Schema


def _after(*batches: list[Version], strict: bool | None = None) -> Served:
    served = nothing_served(strict)
    for batch in batches:
        served = take_in(served, batch)
    return served


def _revisions(served: Served) -> dict[str, int | None]:
    return {name: served.revision_of(name) for name in served.catalog.event_types}


def _reasons(served: Served) -> dict[str, str]:
    return {name: refused.reason for name, refused in served.refused.items()}


# --- one event type --------------------------------------------------------------------------------------


def test_the_newest_version_is_in_force() -> None:
    served = _after([published("storms", 1)], [published("storms", 4), published("storms", 7)])
    assert _revisions(served) == {"storms": 7}
    assert not served.refused


def test_a_version_that_cannot_be_read_leaves_the_last_good_one_in_force() -> None:
    """It is reported under its own revision, so that nobody takes the old one for it."""
    served = _after([published("storms", 1)], [unreadable("storms", 2, "from the future")])
    assert _revisions(served) == {"storms": 1}
    assert [(one.revision, one.reason) for one in served.refused.values()] == [(2, "from the future")]


def test_a_version_with_faults_leaves_the_last_good_one_in_force() -> None:
    """All faults are told, not just the first."""
    faulty = msgspec.structs.replace(schema("storms"), topic=Topic(base="-", key_order=("nowhere",)))
    served = _after([published("storms", 1)], [published_schema(faulty, 2)])
    assert _revisions(served) == {"storms": 1}
    assert "invalid topic base" in _reasons(served)["storms"]
    assert "undeclared identifier 'nowhere'" in _reasons(served)["storms"]


def test_a_version_on_which_this_build_stumbles_leaves_the_last_good_one_in_force() -> None:
    """Whatever a schema makes the code do, the process goes on and says so."""
    absurd = msgspec.structs.replace(schema("storms"), fields=(TextField(name="place", max_length="ten"),))  # type: ignore[arg-type]  # as a newer build might write it
    served = _after([published("storms", 1)], [published_schema(absurd, 2)])
    assert _revisions(served) == {"storms": 1}
    assert "cannot be compiled by this build: TypeError" in _reasons(served)["storms"]


def test_a_good_version_ends_the_report() -> None:
    served = _after([unreadable("storms", 1)], [published("storms", 2)])
    assert _revisions(served) == {"storms": 2}
    assert not served.refused


def test_an_event_type_whose_only_version_is_bad_is_reported_and_not_served() -> None:
    served = _after([unreadable("storms", 1)])
    assert _revisions(served) == {}
    assert set(served.refused) == {"storms"}


def test_a_withdrawn_event_type_is_not_served() -> None:
    served = _after([published("storms", 1), published("buoys", 2)], [withdrawn("storms", 3)])
    assert _revisions(served) == {"buoys": 2}
    assert not served.refused


def test_a_bad_version_after_a_withdrawal_brings_nothing_back() -> None:
    """What was withdrawn is no last good version."""
    served = _after([published("storms", 1)], [withdrawn("storms", 2), unreadable("storms", 3)])
    assert _revisions(served) == {}
    assert set(served.refused) == {"storms"}


def test_an_event_type_can_be_published_again() -> None:
    served = _after([published("storms", 1)], [withdrawn("storms", 2)], [published("storms", 3)])
    assert _revisions(served) == {"storms": 3}


def test_of_what_arrives_together_the_newest_good_version_counts() -> None:
    """So one that joins late serves what those serve who were there."""
    served = take_all(
        nothing_served(None), [published("storms", 1), published("storms", 2), unreadable("storms", 3)]
    )
    assert _revisions(served) == {"storms": 2}
    assert set(served.refused) == {"storms"}


# --- reading again ---------------------------------------------------------------------------------------


def test_reading_everything_again_changes_nothing() -> None:
    """Old versions and old marks come by once more; the compiled event types stay the same objects."""
    history = [
        published("storms", 1),
        withdrawn("storms", 2),
        published("storms", 3),
        unreadable("storms", 4),
    ]
    before = take_all(nothing_served(None), history)
    after = take_all(before, history)
    assert after.known == before.known
    assert after.catalog is before.catalog


def test_what_was_missed_is_made_up_for_by_reading_again() -> None:
    before = take_all(nothing_served(None), [published("storms", 1), published("buoys", 2)])
    after = take_all(
        before, [published("storms", 1), published("buoys", 2), withdrawn("storms", 3), published("buoys", 4)]
    )
    assert _revisions(after) == {"buoys": 4}


def test_what_vanished_without_being_withdrawn_stays_in_force_and_is_reported() -> None:
    """A registry that was lost must not stop what works."""
    before = take_all(nothing_served(None), [published("storms", 5), published("buoys", 6)])
    after = take_all(before, [])
    assert _revisions(after) == {"storms": 5, "buoys": 6}
    assert _reasons(after) == {"storms": VANISHED, "buoys": VANISHED}


def test_what_vanished_and_is_published_again_is_in_force_at_its_new_revision() -> None:
    """A registry that was made anew counts from the beginning."""
    before = take_all(nothing_served(None), [published("storms", 5)])
    after = take_in(take_all(before, []), [published("storms", 1, description="anew")])
    assert _revisions(after) == {"storms": 1}
    assert not after.refused


def test_a_vanished_mark_of_withdrawal_is_forgotten() -> None:
    before = take_all(nothing_served(None), [withdrawn("storms", 1)])
    assert take_all(before, []).known == {}


def test_a_good_version_that_left_the_history_stays_in_force() -> None:
    """Bad versions may have pushed it out; who has it keeps it."""
    before = take_all(nothing_served(None), [published("storms", 1)])
    after = take_all(before, [unreadable("storms", 2), unreadable("storms", 3)])
    assert _revisions(after) == {"storms": 1}


# --- topic bases -----------------------------------------------------------------------------------------


def test_who_has_a_base_keeps_it() -> None:
    """The case of letters makes no difference, as in the log."""
    served = _after(
        [published("storms", 1, base="alerts")], [published_schema(_based("floods", "Alerts"), 2)]
    )
    assert _revisions(served) == {"storms": 1}
    assert "both define topic base" in _reasons(served)["floods"]


def _based(event_type: str, base: str) -> Schema:
    return msgspec.structs.replace(schema(event_type), topic=Topic(base=base, key_order=("place",)))


def test_a_base_that_is_freed_goes_to_who_waits_for_it() -> None:
    waiting = _after([published("storms", 1, base="alerts")], [published("floods", 2, base="alerts")])
    served = take_in(waiting, [withdrawn("storms", 3)])
    assert _revisions(served) == {"floods": 2}
    assert not served.refused


def test_a_base_can_change_hands_within_one_change() -> None:
    """Whatever the order of the names."""
    before = _after([published("storms", 1, base="alerts")])
    after = take_in(before, [published("floods", 2, base="alerts"), published("storms", 3, base="winds")])
    assert _revisions(after) == {"floods": 2, "storms": 3}


def test_an_event_type_whose_new_base_is_taken_keeps_its_old_version() -> None:
    before = _after([published("storms", 1, base="winds"), published("floods", 2, base="waters")])
    after = take_in(before, [published("storms", 3, base="waters")])
    assert _revisions(after) == {"storms": 1, "floods": 2}
    assert set(after.refused) == {"storms"}


@pytest.mark.parametrize("names", [("storms", "floods"), ("floods", "storms")])
def test_of_two_that_arrive_together_the_older_revision_has_the_base(names: tuple[str, str]) -> None:
    first, second = names
    served = take_all(
        nothing_served(None), [published(second, 2, base="alerts"), published(first, 1, base="alerts")]
    )
    assert _revisions(served) == {first: 1}
    assert set(served.refused) == {second}


# --- the catalog -----------------------------------------------------------------------------------------


def test_a_catalog_that_somebody_holds_never_changes() -> None:
    before = _after([published("storms", 1)])
    held = before.catalog
    event_type = held.event_types["storms"]
    take_in(before, [withdrawn("storms", 2), published("buoys", 3)])
    assert dict(held.event_types) == {"storms": event_type}
    assert held.by_base("storms") is event_type


def test_a_report_alone_makes_no_new_catalog() -> None:
    before = _after([published("storms", 1)])
    after = take_in(before, [unreadable("storms", 2)])
    assert after.catalog is before.catalog


@pytest.mark.parametrize(
    ("strict", "at_first", "empty", "declared"),
    [(None, True, False, True), (True, True, True, True), (False, False, False, False)],
)
def test_strictness_is_the_catalogs(strict: bool | None, at_first: bool, empty: bool, declared: bool) -> None:
    """Unless it is set, undeclared event types are refused before anything is known, and once one is declared."""
    nothing = nothing_served(strict)
    loaded = take_all(nothing, [])
    assert nothing.catalog.strict is at_first
    assert loaded.catalog.strict is empty
    assert take_in(loaded, [published("storms", 1)]).catalog.strict is declared


def test_a_registry_of_nothing_is_configured_with_its_first_event_type() -> None:
    """Where nobody said anything of schemas the answer about them says so, until there is one."""
    nothing = take_all(nothing_served(strict=None, is_configured=False), [])
    assert not nothing.catalog.is_configured
    something = take_in(nothing, [published("storms", 1)])
    assert something.catalog.is_configured
    assert take_in(something, [withdrawn("storms", 2)]).catalog.is_configured
    assert take_all(nothing_served(strict=None), []).catalog.is_configured


def test_before_anything_is_loaded_nothing_is_known() -> None:
    with pytest.raises(UnknownEventType):
        nothing_served(None).catalog.get("storms")


# --- early and late --------------------------------------------------------------------------------------

_KINDS: Final = (published, unreadable, withdrawn)
_histories: Final = st.lists(
    st.tuples(st.sampled_from(("storms", "buoys", "runs")), st.sampled_from(_KINDS), st.booleans()),
    max_size=12,
)


@given(_histories)
def test_who_joins_late_serves_what_those_serve_who_were_there(
    history: list[tuple[str, type[Version], bool]],
) -> None:
    """However the versions were spread over changes, and whether or not somebody has read again in between."""
    versions: list[Version] = []
    early, batch = nothing_served(None), []
    for revision, (name, kind, ends_batch) in enumerate(history, start=1):
        version = kind(name, revision)  # type: ignore[call-arg]  # one of the makers above
        versions.append(version)
        batch.append(version)
        if ends_batch:
            early = take_in(early, batch)
            batch = []
    early = take_in(early, batch)
    late = take_all(nothing_served(None), versions)
    for served in (early, take_all(early, versions)):
        assert _revisions(served) == _revisions(late)
        assert served.refused == late.refused
