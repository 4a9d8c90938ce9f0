"""Services that run: the whole application on a free port of the loopback, in the loop of the test.

It is what `avisod` runs, put together by the same function, so what a test sees is what a client sees. Where a process
of its own matters (signals, memory, the command line) `running_avisod` starts one.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import httpx

from aviso_all_in_one.serving import assemble
from aviso_core.settings.loader import load
from aviso_http.process import run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from aviso_core.settings.model import Settings
    from aviso_http.process import Assemble

HOST: Final = "127.0.0.1"
IN_MEMORY: Final[Mapping[str, Any]] = {
    "kind": "in_memory",
    "in_memory": {"max_history_per_topic": 1000, "max_topics": 1000},
}


def settings_of(configuration: Mapping[str, Any]) -> Settings:
    """Return settings as a file with this content makes them, on a free port."""
    whole = {"application": {}, "notification_backend": IN_MEMORY, **configuration}
    whole["application"] = {"host": HOST, "port": 0, **whole["application"]}
    file = Path("/configuration.yaml")
    return load({"AVISOSERVER_CONFIG_FILE": str(file)}, read_file=lambda path: json.dumps(whole).encode())


class Answered(NamedTuple):
    """An answer, read to its end."""

    status: int
    headers: httpx.Headers
    body: bytes

    @property
    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)


class Service:
    """A running service, and a client for it."""

    def __init__(self, port: int, client: httpx.AsyncClient) -> None:
        self.port = port
        self.client = client

    async def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> Answered:
        """Send one request; a body is sent as JSON, content as it is."""
        data = content if content is not None else None if body is None else json.dumps(body).encode()
        lines = {name.encode(): value.encode("latin-1") for name, value in (headers or {}).items()}
        answer = await self.client.request(method, path, content=data, headers=lines)
        return Answered(answer.status_code, answer.headers, answer.content)

    async def notify(self, body: object, *, headers: Mapping[str, str] | None = None) -> Answered:
        """Post a notification."""
        return await self.ask("POST", "/api/v1/notification", body, headers=headers)

    async def send_bytes(self, data: bytes) -> bytes:
        """Send bytes over a connection of their own and return everything that comes back until it is closed."""
        reader, writer = await asyncio.open_connection(HOST, self.port)
        try:
            writer.write(data)
            await writer.drain()
            return await reader.read()
        finally:
            writer.close()


@asynccontextmanager
async def running_service(
    configuration: Mapping[str, Any], *, assembled: Assemble = assemble
) -> AsyncIterator[Service]:
    """Run the service with a configuration for as long as the block runs."""
    stop, port = asyncio.Event(), asyncio.get_running_loop().create_future()
    running = asyncio.ensure_future(
        run(
            settings_of(configuration),
            assemble=assembled,
            service="avisod",
            environ={},
            version="0",
            stop=stop,
            on_ready=port.set_result,
        )
    )
    try:
        await asyncio.wait((running, port), return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            await running
        async with httpx.AsyncClient(base_url=f"http://{HOST}:{port.result()}", timeout=30) as client:
            yield Service(port.result(), client)
    finally:
        stop.set()
        await running


class Program(NamedTuple):
    """A service as a process of its own."""

    process: subprocess.Popen[bytes]
    port: int
    output: Path

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://{HOST}:{self.port}"


def write_configuration(folder: Path, configuration: Mapping[str, Any]) -> Path:
    """Write a configuration file, which asks for a free port and the log in memory where it says nothing else."""
    settings = {"application": {}, "notification_backend": IN_MEMORY, **configuration}
    settings["application"] = {"host": HOST, "port": 0, **settings["application"]}
    file = folder / "configuration.yaml"
    file.write_text(json.dumps(settings))
    return file


@contextmanager
def running_avisod(folder: Path, configuration: Mapping[str, Any]) -> Iterator[Program]:
    """Start the command with a configuration file, wait until it listens, and end it."""
    file = write_configuration(folder, configuration)
    with running_program(folder, "aviso_all_in_one", "serve", "--config", str(file)) as program:
        yield program


@contextmanager
def running_program(
    folder: Path, module: str, *arguments: str, environ: Mapping[str, str] | None = None
) -> Iterator[Program]:
    """Start a service in a folder, with these variables added to the environment; wait until it listens, and end it."""
    output = folder / f"{module}.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **(environ or {})},
        cwd=folder,
    )
    port: Future[int] = Future()
    reader = threading.Thread(target=_read_log, args=(process, output, port))
    reader.start()
    try:
        yield Program(process, _port_of(process, output, port), output)
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(timeout=_ENDS_WITHIN_SECONDS)
        finally:
            process.kill()
            reader.join()


_LISTENS: Final = re.compile(rb'"event.name":"startup.server.listening".*?"port":(\d+)')
_STARTS_WITHIN_SECONDS: Final = 30.0
_ENDS_WITHIN_SECONDS: Final = 30.0


def _port_of(process: subprocess.Popen[bytes], output: Path, port: Future[int]) -> int:
    """Return the port of a process as soon as its log tells it."""
    try:
        return port.result(_STARTS_WITHIN_SECONDS)
    except EOFError:
        process.wait(timeout=_ENDS_WITHIN_SECONDS)
        raise AssertionError(output.read_text()) from None
    except TimeoutError:
        told = "".join(output.read_text().splitlines(keepends=True)[-20:])
        raise AssertionError(
            f"its log has not told within {_STARTS_WITHIN_SECONDS:.0f} s that it listens, which is a record of the "
            f"level info; it ends with:\n{told}"
        ) from None


def _read_log(process: subprocess.Popen[bytes], output: Path, port: Future[int]) -> None:
    """Copy what a process says into a file, and look for its port in it."""
    assert process.stdout is not None
    with process.stdout as said, output.open("wb") as sink:
        for line in said:
            sink.write(line)
            sink.flush()
            found = None if port.done() else _LISTENS.search(line)
            if found is not None:
                port.set_result(int(found[1]))
    if not port.done():
        port.set_exception(EOFError())
