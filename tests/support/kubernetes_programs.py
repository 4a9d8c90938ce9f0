"""Where kube-apiserver, etcd and kubectl are on this machine.

They are looked for in this order: the folder that `KUBEBUILDER_ASSETS` names, `PATH`, the cache of the kit that runs
whole clusters. Where none has them and `AVISO_BUILD_APISERVER` is set, the kit beside the checkout builds them from the
published modules, once: that takes minutes, so it is never a surprise.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

ABSENT: Final = "not on this machine: a Kubernetes API server"

_KIT: Final = Path(__file__).resolve().parents[3] / "shared" / "cluster"


class Programs(NamedTuple):
    """The programs, all of one place."""

    etcd: Path
    kube_apiserver: Path
    kubectl: Path


def find_programs() -> Programs | None:
    """Return the programs, or None where they are not to be had."""
    cache = _cache()
    found = _in_folder(Path(os.environ.get("KUBEBUILDER_ASSETS", "/none"))) or _on_path() or _in_folder(cache)
    return found or (_in_folder(cache) if _build() else None)


def _cache() -> Path:
    own = os.environ.get("AVISO_CLUSTER_CACHE")
    return (Path(own) if own else Path.home() / ".cache" / "aviso-cluster") / "bin"


def _in_folder(folder: Path) -> Programs | None:
    programs = Programs(folder / "etcd", folder / "kube-apiserver", folder / "kubectl")
    return programs if all(os.access(program, os.X_OK) for program in programs) else None


def _on_path() -> Programs | None:
    places = [shutil.which(name) for name in ("etcd", "kube-apiserver", "kubectl")]
    return Programs(*map(Path, filter(None, places))) if all(places) else None


def _build() -> bool:
    script = _KIT / "build.sh"
    if not os.environ.get("AVISO_BUILD_APISERVER") or not script.exists() or shutil.which("go") is None:
        return False
    _cache().mkdir(parents=True, exist_ok=True)
    with (_cache() / ".tests-build").open("w") as lock:
        # Every worker comes here, one builds, and the others find that there is nothing left to do.
        fcntl.flock(lock, fcntl.LOCK_EX)
        return subprocess.run([script, "apiserver"], check=False, stdin=subprocess.DEVNULL).returncode == 0
