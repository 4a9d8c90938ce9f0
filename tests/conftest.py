"""What every test may use: golden files, the rule about skips, and how hard Hypothesis tries.

Only what concerns the running of tests lives here. Parts that tests put together are in `tests/support/`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Generator

GOLDEN_FOLDER: Final = Path(__file__).parent / "golden"

# A deadline or a check for slowness would make the outcome depend on how busy the machine is.
settings.register_profile(
    "default", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
# At a desk the examples are new each time and failing ones are remembered. In CI the same commit always tries the
# same examples, so that a change is not refused for what it did not touch. `quick` is for `make check`, which is run
# all the time and is followed by `make test`; `thorough` is for the search itself.
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, database=None)
_USUAL: Final = "ci" if os.environ.get("CI") else "default"
settings.register_profile("quick", settings.get_profile(_USUAL), max_examples=25)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", _USUAL))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-golden",
        action="store_true",
        help="write tests/golden anew; runs only the tests that use it",
    )
    parser.addoption(
        "--fail-on-skip",
        action="store_true",
        help="fail each skip whose requirement this machine could have had",
    )
    parser.addoption(
        "--has",
        action="append",
        default=[],
        metavar="THING",
        help="fail also a skip for want of this thing: here it is to be had; may be given several times",
    )
    parser.addini("not_to_be_had", type="linelist", help="the requirements that a test may be skipped for")


# --- golden files ----------------------------------------------------------------------------------------


class Golden:
    """Compares what a test has made with the file that somebody once looked at and committed."""

    def __init__(self, folder: Path, *, rewrite: bool) -> None:
        self._folder = folder
        self._rewrite = rewrite

    def __call__(self, name: str, made: str | bytes) -> None:
        """Compare with `tests/golden/<name>`, byte by byte; the name may contain folders."""
        __tracebackhide__ = True
        path = self._folder / name
        if self._rewrite:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(made.encode() if isinstance(made, str) else made)
            return
        assert path.is_file(), f"there is no golden file {name}: `make golden` writes it"
        wanted = path.read_bytes()
        # Compared as text where it is text: pytest shows the difference by line.
        assert made == (wanted.decode() if isinstance(made, str) else wanted), (
            f"differs from golden file {name}"
        )


@pytest.fixture(scope="session")
def golden(request: pytest.FixtureRequest) -> Golden:
    """`golden("refusals.txt", made)`: equal to the committed file, which `make golden` writes anew."""
    return Golden(GOLDEN_FOLDER, rewrite=request.config.getoption("--rewrite-golden"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--rewrite-golden"):
        items[:] = [item for item in items if "golden" in getattr(item, "fixturenames", ())]


# --- skips -----------------------------------------------------------------------------------------------

_Report = TypeVar("_Report", pytest.TestReport, pytest.CollectReport)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    return _judge_skip(report, item.config)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    return _judge_skip(report, collector.config)


def _judge_skip(report: _Report, config: pytest.Config) -> _Report:
    """Turn a skip into a failure, unless its reason names something that cannot be had."""
    if config.getoption("--fail-on-skip") and report.skipped and not hasattr(report, "wasxfail"):
        assert isinstance(report.longrepr, tuple)
        path, line, reason = report.longrepr
        reason = reason.removeprefix("Skipped: ")
        not_to_be_had = set(config.getini("not_to_be_had")) - set(config.getoption("--has"))
        if reason not in {f"not on this machine: {thing}" for thing in not_to_be_had}:
            report.outcome = "failed"
            report.longrepr = (
                f"{path}:{line}: skipped, though this machine could have what it needs: {reason}"
            )
    return report
