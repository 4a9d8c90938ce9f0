"""A real API server: etcd and kube-apiserver on free ports of the loopback, without nodes.

It knows objects, resource definitions with their rules, roles and tokens, and nothing that would run a pod. Its files
are in a folder that the test owns; what is started here is ended here, by its process.
"""

from __future__ import annotations

import json
import secrets
import signal
import ssl
import subprocess
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import httpx
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from kubernetes.client import ApiClient, Configuration

from support.certificates import authority, write_certificate
from support.nats import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from support.kubernetes_programs import Programs

ISSUER: Final = "https://kubernetes.default.svc.cluster.local"

_HOST: Final = "127.0.0.1"
_PATIENCE_SECONDS: Final = 60.0
_BETWEEN_LOOKS_SECONDS: Final = 0.05


class ApiServer:
    """One API server with its store. It keeps its address and its objects from start to start."""

    def __init__(self, programs: Programs, folder: Path, *, flags: Sequence[str] = ()) -> None:
        self.folder = folder
        self.admin_token = secrets.token_hex(16)
        self.ca_file = folder / "ca.pem"
        self.kubeconfig = folder / "admin.kubeconfig"
        self._programs = programs
        self._flags = flags
        self._port, self._etcd_port, self._peer_port = free_ports(3)
        self._etcd: subprocess.Popen[bytes] | None = None
        self._api: subprocess.Popen[bytes] | None = None
        self._prepare()

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"https://{_HOST}:{self._port}"

    @property
    def port(self) -> int:
        """The port where clients connect."""
        return self._port

    def _prepare(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        signer = authority()
        self.ca_file.write_bytes(signer.pem)
        write_certificate(self.folder / "server.pem", signer, _HOST)
        key = ec.generate_private_key(ec.SECP256R1())
        (self.folder / "tokens.pem").write_bytes(
            key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        )
        (self.folder / "admin.csv").write_text(f'{self.admin_token},admin,admin,"system:masters"\n')
        self.write_kubeconfig(self.kubeconfig, self.admin_token)

    def start(self) -> None:
        """Start both, and wait until it answers."""
        etcd_url, peer_url = f"http://{_HOST}:{self._etcd_port}", f"http://{_HOST}:{self._peer_port}"
        self._etcd = self._launch(
            "etcd",
            str(self._programs.etcd),
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={etcd_url}",
            f"--advertise-client-urls={etcd_url}",
            f"--listen-peer-urls={peer_url}",
            f"--initial-advertise-peer-urls={peer_url}",
            f"--initial-cluster=default={peer_url}",
            # The machine may crash with it: nothing of a test is wanted back.
            "--unsafe-no-fsync",
        )
        self.start_api()

    def start_api(self) -> None:
        """Start the API server alone, on a store that runs, and wait until it answers."""
        assert self._api is None
        certificate, tokens = self.folder / "server.pem", self.folder / "tokens.pem"
        self._api = self._launch(
            "kube-apiserver",
            str(self._programs.kube_apiserver),
            f"--etcd-servers=http://{_HOST}:{self._etcd_port}",
            f"--bind-address={_HOST}",
            f"--advertise-address={_HOST}",
            f"--secure-port={self._port}",
            f"--tls-cert-file={certificate}",
            f"--tls-private-key-file={certificate}",
            f"--token-auth-file={self.folder / 'admin.csv'}",
            "--authorization-mode=RBAC",
            f"--service-account-issuer={ISSUER}",
            f"--service-account-key-file={tokens}",
            f"--service-account-signing-key-file={tokens}",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--endpoint-reconciler-type=none",
            f"--cert-dir={self.folder}",
            *self._flags,
        )
        self._wait_ready(self._api)

    def _launch(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder
            )

    def _wait_ready(self, process: subprocess.Popen[bytes]) -> None:
        give_up = time.monotonic() + _PATIENCE_SECONDS
        # It says nowhere that it is ready; it has to be asked.
        looks = threading.Event()
        while not self._is_ready():
            assert process.poll() is None, self._last_words()
            assert time.monotonic() < give_up, self._last_words()
            looks.wait(_BETWEEN_LOOKS_SECONDS)

    def _is_ready(self) -> bool:
        try:
            answer = httpx.get(f"{self.url}/readyz", verify=self.tls_context(), timeout=5)
        except httpx.TransportError:
            return False
        return answer.status_code == 200

    def tls_context(self) -> ssl.SSLContext:
        """Return what clients know it by."""
        return ssl.create_default_context(cafile=str(self.ca_file))

    def _last_words(self) -> str:
        log = (self.folder / "kube-apiserver.log").read_text(encoding="utf-8", errors="replace")
        return "the API server did not become ready:\n" + "\n".join(log.splitlines()[-30:])

    def stop_api(self) -> None:
        """End the API server and leave the store. In good order it would wait a minute for everybody who watches."""
        _end(self._api, signal.SIGKILL)
        self._api = None

    def stop(self) -> None:
        """End both; whoever looks after a test has nothing left to see, so it need not be in good order."""
        _end(self._api, signal.SIGKILL)
        _end(self._etcd, signal.SIGKILL)
        self._api = self._etcd = None

    # --- clients -----------------------------------------------------------------------------------------

    def client(self, token: str | None = None) -> ApiClient:
        """Return a client for a token, or for the administrator."""
        configuration = Configuration()
        configuration.host = self.url
        configuration.ssl_ca_cert = str(self.ca_file)
        configuration.api_key = {"authorization": f"Bearer {token or self.admin_token}"}
        return ApiClient(configuration)

    def write_kubeconfig(
        self, path: Path, token: str, *, namespace: str = "default", url: str | None = None
    ) -> None:
        """Write the file with which programs find this server, as the owner of a token; `url` is another way to it."""
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "tests",
            "clusters": [
                {
                    "name": "tests",
                    "cluster": {
                        "server": url or self.url,
                        **({} if url else {"certificate-authority": str(self.ca_file)}),
                    },
                }
            ],
            "users": [{"name": "tests", "user": {"token": token}}],
            "contexts": [
                {
                    "name": "tests",
                    "context": {"cluster": "tests", "user": "tests", "namespace": namespace},
                }
            ],
        }
        path.write_text(json.dumps(content, indent=1), encoding="utf-8")

    def kubectl(self, *arguments: str, given: object = None) -> subprocess.CompletedProcess[str]:
        """Run kubectl as the administrator, with a document as its input if there is one."""
        return subprocess.run(
            [str(self._programs.kubectl), f"--cache-dir={self.folder / 'kubectl'}", *arguments],
            env={"KUBECONFIG": str(self.kubeconfig), "HOME": str(self.folder)},
            input="" if given is None else json.dumps(given),
            check=False,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_SECONDS,
        )

    def kubectl_json(self, *arguments: str, given: object = None) -> Any:
        """Run kubectl and return what it shows, as JSON; it must succeed."""
        ran = self.kubectl(*arguments, "--output=json", given=given)
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)


def _end(process: subprocess.Popen[bytes] | None, how: signal.Signals) -> None:
    if process is not None:
        process.send_signal(how)
        process.wait(timeout=_PATIENCE_SECONDS)


@contextmanager
def running_apiserver(programs: Programs, folder: Path, *, flags: Sequence[str] = ()) -> Iterator[ApiServer]:
    """Run one API server for as long as the block does, with flags beside those that it needs."""
    server = ApiServer(programs, folder, flags=flags)
    try:
        server.start()
        yield server
    finally:
        server.stop()
