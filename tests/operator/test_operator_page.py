"""The page about event types in a cluster is true: its commands are typed in their order, and print what it shows."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from repo.tree import ROOT
from support.kubernetes_programs import find_programs
from support.operators import environment, running_operator
from support.pages import steps, type_in

if TYPE_CHECKING:
    from support.apiserver import ApiServer
    from support.nats import Server
    from support.services import Program

PAGE: Final = ROOT / "docs" / "how-to" / "event-types-in-a-cluster.md"
_MANIFEST: Final = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMESPACE: Final = "default"


def test_every_command_of_the_page_does_what_it_says(
    server: ApiServer, broker: Server, service: Program, tmp_path: Path
) -> None:
    """From declaring an event type to deleting it, with a service that follows the operator."""
    page = PAGE.read_text(encoding="utf-8").replace("nats://localhost:4222", broker.url)
    manifest = _MANIFEST.search(page)
    assert manifest is not None
    (tmp_path / "weather-alert.yaml").write_text(manifest[1], encoding="utf-8")
    programs = find_programs()
    assert programs is not None, "there is a server, so there is its client"
    environ = dict(environment(server.kubeconfig, broker.url))
    environ["PATH"] = f"{Path(sys.executable).parent}:{programs.kubectl.parent}:{environ['PATH']}"
    with running_operator(tmp_path, server.kubeconfig, broker.url, f"--namespace={NAMESPACE}"):
        for step in steps(page):
            type_in(step, cwd=tmp_path, environ=environ)
