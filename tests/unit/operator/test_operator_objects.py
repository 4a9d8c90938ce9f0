"""What is known of objects, whichever way and in whichever order it is heard."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from aviso_core.registry.base import Owner
from aviso_operator.objects import Objects
from aviso_operator.options import Watched
from aviso_operator.resources import Resource, read_resource


def resource(name: str = "a", *, version: int, namespace: str = "weather", **metadata: Any) -> Resource:
    return read_resource(
        {
            "metadata": {
                "namespace": namespace,
                "name": name,
                "uid": f"uid-{name}",
                "resourceVersion": str(version),
                "generation": 1,
                **metadata,
            },
            "spec": {"topic": {"base": name, "keyOrder": ["x"]}, "identifiers": []},
        }
    )


def test_the_newer_version_stands() -> None:
    objects = Objects(Watched(None))
    assert objects.see(resource(version=5))
    assert not objects.see(resource(version=4))
    assert not objects.see(resource(version=5))
    assert objects.see(resource(version=6))
    known = objects.get("weather/a")
    assert known is not None
    assert known.resource_version == "6"


def test_what_was_deleted_does_not_come_back_by_something_older() -> None:
    objects = Objects(Watched(None))
    objects.see(resource(version=5))
    assert objects.see_gone(resource(version=7))
    assert not objects.see(resource(version=6))
    assert objects.get("weather/a") is None
    gone = objects.gone("weather/a")
    assert gone is not None
    assert gone.resource_version == "7"
    assert objects.see(resource(version=8)), "made again"
    assert objects.gone("weather/a") is None


def test_a_late_deletion_takes_nothing_newer_away() -> None:
    objects = Objects(Watched(None))
    objects.see(resource(version=8))
    assert not objects.see_gone(resource(version=7))
    assert objects.get("weather/a") is not None


def test_everything_at_once_tells_what_is_no_more() -> None:
    objects = Objects(Watched(None))
    objects.see(resource("a", version=5))
    objects.see(resource("b", version=6))
    objects.see(resource("c", version=20))
    assert objects.see_all([resource("b", version=9)], at="10", namespace=None) == {"weather/a"}
    assert {one.name for one in objects} == {"b", "c"}, "what came after the list is kept"


def test_a_list_of_one_namespace_says_nothing_of_others() -> None:
    objects = Objects(Watched(("weather", "ocean")))
    objects.see(resource("a", version=5))
    assert objects.see_all([], at="10", namespace="ocean") == set()
    assert objects.see_all([], at="10", namespace="weather") == {"weather/a"}


def test_an_owner_who_is_not_watched_is_taken_to_be_alive() -> None:
    objects = Objects(Watched(("weather",)))
    objects.see(resource("a", version=5))
    assert objects.is_alive(Owner("weather", "a"))
    assert not objects.is_alive(Owner("weather", "b"))
    assert objects.is_alive(Owner("ocean", "b"))


@given(st.lists(st.tuples(st.sampled_from(["see", "gone"]), st.integers(1, 20)), max_size=20))
def test_the_order_of_news_does_not_matter(news: list[tuple[str, int]]) -> None:
    """Whatever comes late: what stands at the end is what the highest version says."""
    said = {version: kind for kind, version in news}
    objects = Objects(Watched(None))
    for _, version in news:
        if said[version] == "see":
            objects.see(resource(version=version))
        else:
            objects.see_gone(resource(version=version))
    known = objects.get("weather/a")
    last = max(said, default=None)
    if last is None or said[last] == "gone":
        assert known is None
    else:
        assert known is not None
        assert known.resource_version == str(last)
