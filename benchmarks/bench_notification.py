"""The way of one notification through the core: raw JSON in, canonical identifier and topic; event in, frame out."""

from __future__ import annotations

import random
from typing import Final

import msgspec

from aviso_core.envelope import Envelope
from aviso_core.event import Event
from aviso_core.fields.calendar_date import DateField
from aviso_core.fields.choice import ChoiceField
from aviso_core.fields.expver import ExpverField
from aviso_core.fields.integer import IntegerField
from aviso_core.fields.real import RealField
from aviso_core.fields.text import TextField
from aviso_core.fields.time_of_day import TimeField
from aviso_core.request import decode_body
from aviso_core.schema.event_type import EventType
from aviso_core.schema.model import Schema, Topic
from measure import Bar, microseconds_each, print_table
from program import run

NOTIFICATIONS: Final = 4000

RUNS: Final = EventType(
    Schema(
        event_type="runs",
        topic=Topic(base="runs", key_order=("class", "stream", "expver", "date", "time", "step", "level")),
        fields=(
            TextField(name="class", max_length=2),
            ChoiceField(name="stream", values=("oper", "enfo", "wave")),
            ExpverField(name="expver", empty_default="0001"),
            DateField(name="date"),
            TimeField(name="time"),
            IntegerField(name="step", minimum=0, maximum=100_000),
            RealField(name="level"),
        ),
    )
)


def bodies() -> list[bytes]:
    """Return notifications that differ in every value, spelled as producers spell them."""
    chance = random.Random(1)
    return [
        msgspec.json.encode(
            {
                "event_type": "runs",
                "identifier": {
                    "class": chance.choice(["od", "rd", "ea"]),
                    "stream": chance.choice(["oper", "ENFO", "wave"]),
                    "expver": chance.choice(["1", "0001", "test", str(chance.randrange(10_000))]),
                    "date": f"20{chance.randrange(20, 27)}{chance.randrange(1, 13):02}{chance.randrange(1, 29):02}",
                    "time": chance.choice(["0000", "12", "06:00", "1800"]),
                    "step": chance.randrange(100_000),
                    "level": chance.choice([500.0, 850, chance.uniform(0, 1000)]),
                },
                "payload": {
                    "location": f"s3://archive/{chance.randrange(10**9)}",
                    "size": chance.randrange(10**9),
                },
            }
        )
        for _ in range(NOTIFICATIONS)
    ]


def measure() -> list[Bar]:
    """Return the bars of the way in and the way out, and print what each step of the way in costs."""
    raw = bodies()
    identifiers = [decode_body(body).identifier for body in raw]
    plain = msgspec.json.Decoder().decode
    announced = [RUNS.announce(identifier) for identifier in identifiers]
    events = [
        Event(
            event_type="runs",
            sequence=place,
            instant=1_790_000_000_000_000_000 + place * 1_234_567,
            subject=one.subject,
            identifier=one.identifier,
            payload=b'{"location":"s3://archive/17","size":4711}',
        )
        for place, one in enumerate(announced)
    ]
    envelope = Envelope(event_type="runs", base_url="http://localhost:8000")

    def way_in() -> None:
        for body in raw:
            request = decode_body(body)
            RUNS.announce(request.identifier)
            request.compact_payload()

    def way_out() -> None:
        for event in events:
            b"event: live-notification\ndata: %b\n\n" % envelope.render(event)

    floor = microseconds_each(lambda: [plain(body) for body in raw], items=NOTIFICATIONS)
    inwards = microseconds_each(way_in, items=NOTIFICATIONS)
    outwards = microseconds_each(way_out, items=NOTIFICATIONS)
    decoding = microseconds_each(lambda: [decode_body(body) for body in raw], items=NOTIFICATIONS)
    announcing = microseconds_each(lambda: [RUNS.announce(one) for one in identifiers], items=NOTIFICATIONS)
    steps = [
        ("decode only, as JSON (the floor)", floor),
        ("decode and check the body", decoding),
        ("canonical identifier and topic", announcing),
        ("all of it, payload made compact", inwards),
    ]
    print_table(
        "One notification of seven fields",
        ("step", "µs", "× the floor"),
        [(name, cost, cost / floor) for name, cost in steps],
    )
    return [
        Bar("raw JSON → canonical identifier + topic", inwards, "≤", 10, "µs"),
        Bar("event → CloudEvent frame", outwards, "≤", 5, "µs"),
    ]


def main() -> None:
    """Measure and print."""
    run(__doc__, lambda _: measure())


if __name__ == "__main__":
    main()
