"""One command installs all of it, and says what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from support.installed import RELEASE, RELEASE_NAMESPACE

if TYPE_CHECKING:
    from support.installed import Installed

READY_WITHIN_SECONDS: Final = 60
COMPONENTS: Final = ("operator", "ingest", "gateway", "schema", "edge", "nats")


def test_a_cold_install_is_ready_within_a_minute(installed: Installed) -> None:
    print(f"ready after {installed.seconds:.1f} s")
    assert installed.seconds <= READY_WITHIN_SECONDS


def test_every_component_has_its_pods_under_the_restricted_level(installed: Installed) -> None:
    """The namespace enforces the level, so a pod that would break it is not there at all."""
    assert {component: bool(installed.ready_pods(component)) for component in COMPONENTS} == dict.fromkeys(
        COMPONENTS, True
    )
    assert len(installed.ready_pods("gateway")) == 3
    assert len(installed.ready_pods("nats")) == 3


def test_the_tests_of_the_chart_pass(installed: Installed) -> None:
    told = installed.cluster.helm("test", RELEASE, f"--namespace={RELEASE_NAMESPACE}", "--timeout=120s")
    assert (
        told.count("Phase:          Succeeded")
        == told.count("TEST SUITE:") - told.count("TEST SUITE: None")
        > 0
    )


def test_the_home_page_is_at_the_one_address(installed: Installed) -> None:
    with installed.reached() as client:
        home = client.get("/")
    assert home.status_code == 200
    assert home.headers["content-type"].startswith("text/html")
