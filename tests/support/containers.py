"""The broker in a container, for tests that are to run over one.

The engine is the one that `DOCKER_HOST`, the user's Docker context or the default socket leads to. The image is built
from the program that this environment has, so nothing is pulled. No reaper is started: what is started here is stopped
here.

Not every engine has a network of its own for containers; on one without, the server runs on this machine's.
"""

from __future__ import annotations

import io
import re
import socket
import tarfile
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final

from docker.errors import DockerException  # type: ignore[import-untyped] # it brings none
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer
from testcontainers.core.docker_client import DockerClient, get_docker_host
from testcontainers.core.wait_strategies import LogMessageWaitStrategy

from support.nats import CLIENTS_CONNECT_AT, SERVER_IS_READY, server_program

if TYPE_CHECKING:
    from collections.abc import Iterator

    import docker  # type: ignore[import-untyped] # it brings none

_IMAGE: Final = "aviso-tests-nats"
_DOCKERFILE: Final = b"""\
FROM scratch
COPY nats-server /nats-server
COPY nats.conf /nats.conf
ENTRYPOINT ["/nats-server", "--config", "/nats.conf"]
"""
# More than any module has tests: each is given one of its own, for streams of other accounts are in nobody's way.
_ACCOUNTS: Final = 1000
_PORT: Final = 4222
_SOCKET_FILE: Final = "unix://"
_DEFAULT_SOCKET: Final = f"{_SOCKET_FILE}/var/run/docker.sock"


@contextmanager
def running_container() -> Iterator[Iterator[str] | None]:
    """Run the same server in a container; None where no Docker engine answers.

    What comes are addresses of it for clients, each with an account of its own, in which nothing was ever stored.
    """
    engine = _answering_engine()
    if engine is None:
        yield None
        return
    with closing(engine):
        engine.images.build(fileobj=_build_context(), custom_context=True, tag=_IMAGE, rm=True)
        has_network = bool(engine.networks.list(names=["bridge"]))
    testcontainers_config.ryuk_disabled = True
    with _container(has_network).waiting_for(LogMessageWaitStrategy(SERVER_IS_READY)) as container:
        address = _published_address(container) if has_network else _own_address(container)
        yield (f"nats://{user}:{user}@{address}" for user in _users())


def _answering_engine() -> docker.DockerClient | None:
    if not _is_there(get_docker_host() or _DEFAULT_SOCKET):
        return None
    try:
        return DockerClient().client
    except DockerException:
        return None


def _is_there(address: str) -> bool:
    """Tell whether it is worth to ask: the library never closes a socket file that it could not connect to."""
    if not address.startswith(_SOCKET_FILE):
        return True
    with socket.socket(socket.AF_UNIX) as one:
        return one.connect_ex(address.removeprefix(_SOCKET_FILE)) == 0


def _container(has_network: bool) -> DockerContainer:
    container = DockerContainer(_IMAGE)
    if has_network:
        return container.with_exposed_ports(_PORT)
    # Port -1 is any that is free.
    return container.with_kwargs(network_mode="host").with_command("--addr 127.0.0.1 --port -1")


def _users() -> list[str]:
    return [f"u{number}" for number in range(_ACCOUNTS)]


def accounts_configuration(store: str) -> str:
    """Return the configuration of a server that keeps its streams in a folder, with an account for each user."""
    accounts = "\n".join(
        f"  {user}: {{ jetstream: enabled, users: [{{ user: {user}, password: {user} }}] }}"
        for user in _users()
    )
    return f'jetstream {{ store_dir: "{store}" }}\naccounts {{\n{accounts}\n}}\n'


def _published_address(container: DockerContainer) -> str:
    return f"{container.get_container_host_ip()}:{container.get_exposed_port(_PORT)}"


def _own_address(container: DockerContainer) -> str:
    _, said = container.get_logs()
    listening = re.search(CLIENTS_CONNECT_AT, said.decode())
    assert listening, "a server that is ready has said where it listens"
    return f"127.0.0.1:{listening[1]}"


def _build_context() -> io.BytesIO:
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        archive.add(server_program(), "nats-server")
        for name, content in (
            ("Dockerfile", _DOCKERFILE),
            ("nats.conf", accounts_configuration("/store").encode()),
        ):
            described = tarfile.TarInfo(name)
            described.size = len(content)
            archive.addfile(described, io.BytesIO(content))
    context.seek(0)
    return context
