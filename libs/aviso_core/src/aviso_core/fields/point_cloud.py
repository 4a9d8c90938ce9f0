"""`PointCloud`: many places at once, under the reserved key `point_cloud`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Self

from aviso_core.errors import InvalidGeometry, InvalidIdentifier
from aviso_core.fields.base import Field, JsonSchema, Samples
from aviso_core.geometry.pairs import read_pair
from aviso_core.geometry.shapes import NotAShape, PointCloud

if TYPE_CHECKING:
    from collections.abc import Iterator

POINT_CLOUD_KEY: Final = "point_cloud"
MOST_POINTS: Final = 10_000
# The cloud travels in a header of the stored message, and headers have a limit.
MOST_BYTES: Final = 61_440


class PointCloudField(Field, frozen=True, kw_only=True, tag="PointCloud"):
    """Places in the producer's order. As a filter, `polygon` selects clouds with a point inside or on the area."""

    kind: ClassVar[str] = "PointCloud"

    max_points: int = MOST_POINTS

    def read(self, value: object) -> PointCloud:
        """Return the cloud of a notification's value."""
        if isinstance(value, dict):
            raise InvalidIdentifier(
                f"Field '{self.name}' constraint object is not supported for notify operation",
                field=self.name,
            )
        if not isinstance(value, list | tuple):
            raise self._refusal("must be a JSON array of [lat,lon] points")
        if not value:
            raise self._refusal("point cloud must contain at least one point")
        if len(value) > self.max_points:
            raise self._refusal(f"point cloud contains {len(value)} points, maximum is {self.max_points}")
        cloud = PointCloud(tuple(self._read_point(place, item) for place, item in enumerate(value)))
        size = len(cloud.canonical())
        if size > MOST_BYTES:
            raise self._refusal(f"point cloud canonical JSON is {size} bytes, maximum is {MOST_BYTES} bytes")
        return cloud

    def _read_point(self, place: int, item: object) -> tuple[float, float]:
        try:
            return read_pair(item)
        except NotAShape as reason:
            raise InvalidGeometry(
                f"field '{self.name}' point {place} is invalid: {reason}",
                details=str(reason),
                field=self.name,
            ) from reason

    def _refusal(self, reason: str) -> InvalidGeometry:
        return InvalidGeometry(f"field '{self.name}' {reason}", field=self.name)

    def options(self) -> dict[str, object]:
        """Return `max_points`."""
        return {"max_points": self.max_points}

    def json_schema(self) -> JsonSchema:
        """Describe an array of pairs."""
        pair = {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "number"}}
        return {"type": "array", "minItems": 1, "maxItems": self.max_points, "items": pair}

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield a limit that is none."""
        if not 1 <= self.max_points <= MOST_POINTS:
            yield (
                f"max_points must be between 1 and {MOST_POINTS}, got {self.max_points}",
                "set a number in that range",
            )

    def narrowings(self, older: Self) -> Iterator[str]:
        """Yield a lower limit."""
        if self.max_points < older.max_points:
            yield f"maxPoints {self.max_points} is lower than {older.max_points}"

    @classmethod
    def samples(cls) -> Iterator[tuple[PointCloudField, Samples]]:
        """Yield a field of the default size and a small one."""
        yield (
            cls(name=POINT_CLOUD_KEY),
            Samples(
                accepted=(
                    ([[1, 2], [1, 2]], "[[1.0,2.0],[1.0,2.0]]"),
                    ([[10.5, -20.25]], "[[10.5,-20.25]]"),
                ),
                refused=(
                    (
                        "[[10.0,20.0]]",
                        "field 'point_cloud' must be a JSON array of [lat,lon] points",
                    ),
                    (None, "field 'point_cloud' must be a JSON array of [lat,lon] points"),
                    ([], "field 'point_cloud' point cloud must contain at least one point"),
                    (
                        [1, 2],
                        "field 'point_cloud' point 0 is invalid: coordinate must be a two-element array [lat,lon]",
                    ),
                    (
                        [[0, 0], [0, 181]],
                        "field 'point_cloud' point 1 is invalid: longitude 181 is outside the valid range [-180, 180]",
                    ),
                    (
                        {"in": []},
                        "Field 'point_cloud' constraint object is not supported for notify operation",
                    ),
                    (
                        [[-89.123456789012, -179.123456789012]] * 2000,
                        "field 'point_cloud' point cloud canonical JSON is 74001 bytes, maximum is 61440 bytes",
                    ),
                ),
            ),
        )
        yield (
            cls(name=POINT_CLOUD_KEY, max_points=2),
            Samples(
                accepted=(([[0, 0], [1, 1]], "[[0.0,0.0],[1.0,1.0]]"),),
                refused=(
                    ([[0, 0]] * 3, "field 'point_cloud' point cloud contains 3 points, maximum is 2"),
                    (["x"] * 3, "field 'point_cloud' point cloud contains 3 points, maximum is 2"),
                ),
            ),
        )
