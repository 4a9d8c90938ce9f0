"""The broker in a container, for tests that are to run over one.

The image is built from the program that this environment has, so nothing is pulled. No reaper is started: what is
started here is stopped here.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final

import docker  # type: ignore[import-untyped] # it brings none
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import LogMessageWaitStrategy

from support.nats import SERVER_IS_READY, server_program

if TYPE_CHECKING:
    from collections.abc import Iterator

_IMAGE: Final = "aviso-tests-nats"
_DOCKERFILE: Final = b"""\
FROM scratch
COPY nats-server /nats-server
ENTRYPOINT ["/nats-server"]
"""


@contextmanager
def running_container() -> Iterator[str | None]:
    """Run the same server in a container and say where clients connect; None where no Docker engine answers."""
    if not _engine_answers():
        yield None
        return
    with closing(docker.from_env()) as engine:
        engine.images.build(fileobj=_build_context(), custom_context=True, tag=_IMAGE)
    testcontainers_config.ryuk_disabled = True
    container = DockerContainer(_IMAGE).with_exposed_ports(4222).with_command("-js -sd /store")
    with container.waiting_for(LogMessageWaitStrategy(SERVER_IS_READY)):
        yield f"nats://{container.get_container_host_ip()}:{container.get_exposed_port(4222)}"


def _engine_answers() -> bool:
    command = ["docker", "version", "--format", "{{.Server.Version}}"]
    return (
        shutil.which("docker") is not None
        and not subprocess.run(command, check=False, capture_output=True).returncode
    )


def _build_context() -> io.BytesIO:
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        archive.add(server_program(), "nats-server")
        dockerfile = tarfile.TarInfo("Dockerfile")
        dockerfile.size = len(_DOCKERFILE)
        archive.addfile(dockerfile, io.BytesIO(_DOCKERFILE))
    context.seek(0)
    return context
