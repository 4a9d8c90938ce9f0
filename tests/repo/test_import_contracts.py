"""The import contracts hold, and they refuse what they are there to refuse."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from repo.tree import ROOT, member_folders, packages_of


def _lint_imports(tree: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts over a tree with the packages and the pyproject.toml of the root beside each other."""
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache", "--no-logo"]
    # What lies in the working directory goes before what is installed.
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=tree)


@pytest.fixture
def copied_tree(tmp_path: Path) -> Path:
    """Return a copy of all packages, to plant an import in."""
    for member in member_folders():
        for package in packages_of(member):
            shutil.copytree(ROOT / package, tmp_path / package.name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_contracts_hold(copied_tree: Path) -> None:
    """Without a planted import nothing is refused, so what follows is refused for the planted one."""
    ran = _lint_imports(copied_tree)
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize(
    ("module", "planted"),
    [
        ("aviso_core/errors.py", "import aviso_core.units"),  # upwards
        ("aviso_core/event.py", "from aviso_core.matching import anything"),  # upwards, past other rooms
        ("aviso_core/topic/planted.py", "import aviso_core.fields"),  # sideways
        (
            "aviso_core/settings/planted.py",
            "import aviso_core.event",
        ),  # downwards, but settings know no domain
        ("aviso_core/units.py", "import litestar"),  # a framework
        ("aviso_core/schema/planted.py", "import nats"),  # a broker
        ("aviso_core/clock.py", "import os"),  # the environment
        ("aviso_core/matching/planted.py", "import asyncio"),  # the event loop
        ("aviso_core/startup.py", "import ssl"),  # the network, from above those that may
        ("aviso_core/eventlog/planted.py", "import aviso_core.registry"),  # sideways, between those that wait
        ("aviso_core/registry/planted.py", "import aviso_core.eventlog"),  # and back
        (
            "aviso_core/broker/planted.py",
            "import aviso_core.eventlog",
        ),  # upwards, to whom the connection serves
        ("aviso_core/broker/planted.py", "import aviso_core.registry"),  # the same
        (
            "aviso_core/registry/planted.py",
            "import aviso_core.startup",
        ),  # upwards, to who reads its event types
        ("aviso_core/matching/planted.py", "import aviso_core.broker"),  # upwards, from where nothing waits
        ("aviso_core/eventlog/planted.py", "import nats"),  # the broker, outside of the log that is on it
        (
            "aviso_core/registry/planted.py",
            "from nats.js import JetStreamContext",
        ),  # outside of that registry
        ("aviso_core/startup.py", "import nats"),  # from above those that may
        ("aviso_core/alongside.py", "import aviso_core.clock"),  # sideways, at the bottom
        ("aviso_core/errors.py", "import aviso_http"),  # a library that is above
        ("aviso_http/front.py", "import aviso_ingest"),  # a service, from what all services share
        ("aviso_ingest/planted.py", "import aviso_schema"),  # from one service to another
        ("aviso_schema/planted.py", "import aviso_ingest"),  # and back
        ("aviso_ingest/planted.py", "import aviso_all_in_one"),  # to what puts the services together
        ("aviso_http/access/planted.py", "import aviso_http.front"),  # upwards
        ("aviso_http/metrics/planted.py", "import aviso_http.access"),  # sideways
        ("aviso_http/front.py", "import prometheus_client"),  # what is counted with, outside of its room
        ("aviso_ingest/planted.py", "import opentelemetry"),  # how it is traced
        ("aviso_schema/planted.py", "import nats"),  # where it is kept
        ("aviso_all_in_one/planted.py", "import uvicorn"),  # who listens
        (
            "aviso_stream_gateway/opening.py",
            "import aviso_ingest",
        ),  # from where events go out to where they come in
        ("aviso_ingest/planted.py", "import aviso_stream_gateway"),  # and back
        ("aviso_schema/planted.py", "import aviso_stream_gateway"),  # the same, from the third
        ("aviso_stream_gateway/app.py", "import aviso_all_in_one"),  # to what puts it together with them
        ("aviso_http/process.py", "import aviso_stream_gateway"),  # from what all services share
        ("aviso_stream_gateway/hub.py", "import nats"),  # where events come from
        ("aviso_stream_gateway/handed_over.py", "import uvicorn"),  # whose connection it was
        ("aviso_stream_gateway/streams.py", "import prometheus_client"),  # what is counted with
        ("aviso_stream_gateway/showing.py", "import pyarrow"),  # a form for machines, outside of its room
        (
            "aviso_stream_gateway/session.py",
            "import aviso_stream_gateway.stream",
        ),  # upwards, to who gives it a connection
        ("aviso_stream_gateway/feed.py", "import aviso_stream_gateway.hub"),  # upwards, to who moves it
        (
            "aviso_stream_gateway/hub.py",
            "import aviso_stream_gateway.playback",
        ),  # sideways: from now to history
        ("aviso_stream_gateway/request.py", "import aviso_stream_gateway.showing"),  # sideways, at the bottom
        (
            "aviso_operator/planted.py",
            "import aviso_schema",
        ),  # from what declares event types to what tells of them
        ("aviso_ingest/planted.py", "import aviso_operator"),  # and from a service back
        (
            "aviso_all_in_one/planted.py",
            "import aviso_operator",
        ),  # the same, from what puts services together
        ("aviso_operator/planted.py", "import aviso_all_in_one"),  # and back
        ("aviso_core/planted_room.py", ""),  # a room without a place in the layers
        ("aviso_http/planted_room.py", ""),  # the same, of the library above
        ("aviso_stream_gateway/planted_room.py", ""),  # the same, of a service
    ],
)
def test_a_forbidden_import_is_refused(copied_tree: Path, module: str, planted: str) -> None:
    """Each kind of contract is broken once."""
    with (copied_tree / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{planted}\n")
    ran = _lint_imports(copied_tree)
    assert ran.returncode == 1
    assert "BROKEN" in ran.stdout
    assert planted_name(module) in ran.stdout


def planted_name(module: str) -> str:
    """Return the dotted name under which the refusal must speak of the module."""
    return module.removesuffix(".py").replace("/", ".")
