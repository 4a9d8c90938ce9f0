"""The chart of this folder's tests, rendered by Helm, and an API server that has never seen it."""

from __future__ import annotations

import fcntl
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from chart.value_sets import SETS
from support.apiserver import running_apiserver
from support.chart import Chart, Rendered
from support.helm import ABSENT, Helm, find_program
from support.kubernetes_programs import ABSENT as NO_API_SERVER
from support.kubernetes_programs import find_programs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from support.apiserver import ApiServer


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    program = find_program()
    if program is None:
        pytest.skip(ABSENT)
    return Helm(program, tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="session")
def chart(helm: Helm, tmp_path_factory: pytest.TempPathFactory) -> Chart:
    return Chart(helm, _shared_folder(tmp_path_factory))


@pytest.fixture(scope="session")
def releases(chart: Chart) -> Mapping[str, Rendered]:
    """Render every set of values: one worker does it, as many at once as there are processors."""
    with (chart.folder / "lock").open("w") as lock, ThreadPoolExecutor(os.cpu_count()) as pool:
        fcntl.flock(lock, fcntl.LOCK_EX)
        rendered = pool.map(lambda one: chart.render(one.values, release=one.release), SETS.values())
        return dict(zip(SETS, rendered, strict=True))


@pytest.fixture(scope="session")
def release(releases: Mapping[str, Rendered]) -> Rendered:
    """Give the release as it is without any value given."""
    return releases["nothing given"]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    programs = find_programs()
    if programs is None:
        pytest.skip(NO_API_SERVER)
    with running_apiserver(programs, tmp_path_factory.mktemp("apiserver")) as running:
        yield running


def _shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that all workers of this run have, and no other run."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "chart"
    folder.mkdir(exist_ok=True)
    return folder
