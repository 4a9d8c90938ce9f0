"""The field types: the only list of them."""

from __future__ import annotations

from typing import Final, TypeAlias, get_args

from aviso_core.fields.calendar_date import DateField
from aviso_core.fields.choice import ChoiceField
from aviso_core.fields.expver import ExpverField
from aviso_core.fields.integer import IntegerField
from aviso_core.fields.point_cloud import PointCloudField
from aviso_core.fields.polygon import PolygonField
from aviso_core.fields.real import RealField
from aviso_core.fields.text import TextField
from aviso_core.fields.time_of_day import TimeField

# Their values are canonical texts and can be part of the topic.
ScalarField: TypeAlias = (
    TextField | ChoiceField | DateField | TimeField | IntegerField | RealField | ExpverField
)
# Their values are shapes and stand beside the topic.
SpatialField: TypeAlias = PolygonField | PointCloudField
# These also take constraint objects.
ComparableField: TypeAlias = ChoiceField | IntegerField | RealField

AnyField: TypeAlias = ScalarField | SpatialField

FIELD_TYPES: Final[tuple[type[AnyField], ...]] = get_args(AnyField)
