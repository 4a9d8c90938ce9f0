"""How many connections a service can hold is not what a shell or a container engine bounds it to by habit."""

from __future__ import annotations

import resource
from pathlib import Path

from support.services import IN_MEMORY, running_avisod


def test_a_service_may_open_as_many_files_as_the_system_lets_it(tmp_path: Path) -> None:
    """Container engines begin with a thousand, and a gateway holds many more streams than that."""
    usual, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(usual, 500), most))
    try:
        with running_avisod(tmp_path, {"notification_backend": IN_MEMORY}) as program:
            limits = Path(f"/proc/{program.process.pid}/limits").read_text()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (usual, most))
    soft, hard = next(line for line in limits.splitlines() if line.startswith("Max open files")).split()[3:5]
    assert soft == hard
    assert int(soft) == most
