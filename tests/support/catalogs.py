"""Catalogs that several tests ask: the event types of the recordings, and one that declares nothing."""

from __future__ import annotations

from typing import Final

from aviso_core.fields.calendar_date import DateField
from aviso_core.fields.choice import ChoiceField
from aviso_core.fields.expver import ExpverField
from aviso_core.fields.integer import IntegerField
from aviso_core.fields.point_cloud import PointCloudField
from aviso_core.fields.polygon import PolygonField
from aviso_core.fields.real import RealField
from aviso_core.fields.text import TextField
from aviso_core.fields.time_of_day import TimeField
from aviso_core.schema.catalog import Catalog, build_catalog
from aviso_core.schema.model import PayloadRules, Schema, Topic

STORMS: Final = Schema(
    event_type="storms",
    topic=Topic(base="storms", key_order=("basin", "season", "category", "wind")),
    fields=(
        ChoiceField(name="basin", required=True, values=("atlantic", "pacific", "indian")),
        TextField(name="season", max_length=6),
        IntegerField(name="category", minimum=0, maximum=5),
        RealField(name="wind", minimum=0.0, maximum=150.0),
        PolygonField(name="polygon"),
    ),
)
RUNS: Final = Schema(
    event_type="runs",
    topic=Topic(base="runs", key_order=("class", "expver", "date", "time", "step")),
    fields=(
        TextField(name="class", required=True, max_length=2),
        ExpverField(name="expver", empty_default="0001"),
        DateField(name="date", canonical_format="%Y-%m-%d"),
        TimeField(name="time"),
        IntegerField(name="step", minimum=0, maximum=100_000),
    ),
    payload=PayloadRules(required=True),
)
BUOYS: Final = Schema(
    event_type="buoys",
    topic=Topic(base="buoys", key_order=("net",)),
    fields=(TextField(name="net", required=True), PointCloudField(name="point_cloud", required=True)),
)

OPEN: Final[Catalog] = build_catalog([STORMS, RUNS, BUOYS])
NOTHING_DECLARED: Final[Catalog] = build_catalog(None)
