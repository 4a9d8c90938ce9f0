"""How many streams may be open, and whose they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aviso_core.errors import Overloaded
from aviso_core.settings.model import Streams
from aviso_http.access.user import User
from aviso_stream_gateway.limits import StreamLimits, TooManyStreams, address_of

if TYPE_CHECKING:
    from aviso_stream_gateway.limits import Ticket

ANN = User(name="ann", realm="main")


def _outcome(limits: StreamLimits, user: User | None = None, address: str = "a") -> str:
    try:
        limits.admit(user, address)
    except TooManyStreams as refusal:
        return str(refusal)
    except Overloaded:
        return "full"
    return "in"


def test_a_process_takes_so_many_and_no_more() -> None:
    limits = StreamLimits(Streams(max_streams=2))
    ticket = limits.admit(None, "a")
    assert [_outcome(limits), _outcome(limits, ANN, "b")] == ["in", "full"]
    ticket.give_back()
    assert [_outcome(limits, ANN), _outcome(limits)] == ["in", "full"]


def test_a_user_is_a_name_in_a_realm_whatever_the_address() -> None:
    limits = StreamLimits(Streams(max_streams_per_user=1))
    told = "One user may have 1 open streams here; close one, or come again later"
    assert _outcome(limits, ANN, "a") == "in"
    assert _outcome(limits, ANN, "b") == told
    assert _outcome(limits, User(name="ann", realm="other")) == "in"
    assert _outcome(limits, User(name="ann")) == "in"
    # Nobody in particular is not one user.
    assert [_outcome(limits), _outcome(limits)] == ["in", "in"]


def test_an_address_counts_for_everybody_behind_it() -> None:
    limits = StreamLimits(Streams(max_streams_per_address=2))
    told = "One address may have 2 open streams here; close one, or come again later"
    assert [_outcome(limits), _outcome(limits, ANN), _outcome(limits)] == ["in", "in", told]
    assert _outcome(limits, None, "b") == "in"


def test_without_a_bound_there_is_none() -> None:
    limits = StreamLimits(Streams())
    assert {_outcome(limits, ANN) for _ in range(1000)} == {"in"}


def test_who_is_refused_takes_nobody_s_place() -> None:
    """The bound of the address refuses after that of the user was asked."""
    limits = StreamLimits(Streams(max_streams=3, max_streams_per_user=2, max_streams_per_address=1))
    assert _outcome(limits, ANN, "a") == "in"
    assert _outcome(limits, ANN, "a").startswith("One address")
    assert _outcome(limits, ANN, "b") == "in"
    assert _outcome(limits, None, "c") == "in"
    assert _outcome(limits, None, "d") == "full"


def test_a_ticket_is_given_back_once() -> None:
    limits = StreamLimits(Streams(max_streams=2, max_streams_per_user=2))
    first = limits.admit(ANN, "a")
    limits.admit(ANN, "a")
    first.give_back()
    first.give_back()
    assert [_outcome(limits, ANN), _outcome(limits, ANN)] == ["in", "full"]


@given(
    steps=st.lists(st.tuples(st.booleans(), st.sampled_from([None, "ann", "eve"]), st.sampled_from("abc")))
)
def test_it_counts_what_is_open(steps: list[tuple[bool, str | None, str]]) -> None:
    """Compared with a plain list of the streams that are open."""
    limits = StreamLimits(Streams(max_streams=6, max_streams_per_user=2, max_streams_per_address=3))
    held: list[tuple[str | None, str, Ticket]] = []
    for is_opening, name, address in steps:
        if not is_opening:
            if held:
                held.pop(0)[2].give_back()
            continue
        user = None if name is None else User(name=name, realm="main")
        full = len(held) >= 6
        many = name is not None and sum(one[0] == name for one in held) >= 2
        many = many or sum(one[1] == address for one in held) >= 3
        try:
            held.append((name, address, limits.admit(user, address)))
            assert not full
            assert not many
        except TooManyStreams:
            assert many
            assert not full
        except Overloaded:
            assert full


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        (Streams(max_streams=1), Overloaded),
        (Streams(max_streams_per_user=1), TooManyStreams),
        (Streams(max_streams_per_address=1), TooManyStreams),
    ],
    ids=["process", "user", "address"],
)
def test_who_is_refused_is_told_when_to_come_again(settings: Streams, kind: type[Overloaded]) -> None:
    """The released client honours it. A process that is full is not the caller's fault."""
    limits = StreamLimits(settings)
    limits.admit(ANN, "a")
    with pytest.raises(Overloaded) as raised:
        limits.admit(ANN, "a")
    assert type(raised.value) is kind
    assert raised.value.retry_after_seconds == 5


# --- addresses -------------------------------------------------------------------------------------------


def _scope(*lines: str, client: object = ("10.0.0.9", 5)) -> dict[str, Any]:
    headers = [(b"host", b"h"), *((b"x-forwarded-for", line.encode()) for line in lines)]
    return {"type": "http", "client": client, "headers": headers}


@pytest.mark.parametrize(
    ("lines", "hops", "address"),
    [
        # Nobody in front is ours: whatever is claimed is not believed.
        ((), 0, "10.0.0.9"),
        (("1.1.1.1",), 0, "10.0.0.9"),
        # So many entries from the right were written by proxies of ours; what stands before them is anybody's claim.
        (("1.1.1.1",), 1, "1.1.1.1"),
        (("6.6.6.6, 1.1.1.1",), 1, "1.1.1.1"),
        (("6.6.6.6, 1.1.1.1, 2.2.2.2",), 2, "1.1.1.1"),
        (("6.6.6.6,1.1.1.1 ,\t2.2.2.2",), 2, "1.1.1.1"),
        # Several lines are one list.
        (("6.6.6.6", "1.1.1.1", "2.2.2.2"), 2, "1.1.1.1"),
        (("6.6.6.6, 1.1.1.1", "2.2.2.2"), 2, "1.1.1.1"),
        # Fewer entries than proxies: the request came past some of them.
        (("1.1.1.1",), 3, "1.1.1.1"),
        ((), 2, "10.0.0.9"),
        (("",), 1, "10.0.0.9"),
        ((" , ,",), 1, "10.0.0.9"),
        (("1.1.1.1, ,",), 1, "1.1.1.1"),
        (("2001:db8::1",), 1, "2001:db8::1"),
    ],
)
def test_an_address_is_the_one_that_the_first_of_our_proxies_saw(
    lines: tuple[str, ...], hops: int, address: str
) -> None:
    assert address_of(_scope(*lines), trusted_hops=hops) == address


@pytest.mark.parametrize("client", [None, ("", 0)])
def test_a_connection_without_an_address_has_none(client: object) -> None:
    """One over a local socket."""
    assert address_of(_scope(client=client), trusted_hops=0) == ""


def test_bytes_that_are_no_text_are_an_address_like_any_other() -> None:
    scope = {"client": None, "headers": [(b"x-forwarded-for", b"\xff\xfe")]}
    assert address_of(scope, trusted_hops=1) == "ÿþ"
