"""What the tree promises, whoever adds to it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from repo.tree import ROOT, committable_files

_FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$", re.MULTILINE)


def _markdown_pages() -> list[Path]:
    return [path for path in committable_files() if path.suffix == ".md"]


@pytest.mark.parametrize("folder", ["libs", "operator", "services", "spark-jobs"])
def test_folders_of_members_are_not_packages(folder: str) -> None:
    """`operator/__init__.py` would shadow Python's own `operator` for everything started from the root."""
    assert not (ROOT / folder / "__init__.py").exists()


def test_the_lock_of_the_resolver_is_not_committed() -> None:
    """It names the index that it was resolved with; `requirements/` holds the same pins without."""
    assert not [path for path in committable_files() if path.name == "uv.lock"]


def test_no_file_names_a_package_index() -> None:
    """Where packages come from is said by each machine's own configuration."""
    hosts = _index_hosts()
    assert hosts, "no client could name its index"
    pattern = re.compile("|".join(map(re.escape, sorted(hosts))).encode())
    assert not [path for path in committable_files() if pattern.search((ROOT / path).read_bytes())]


def _index_hosts() -> set[str]:
    """Ask the package clients of this machine, so that no host is written down here."""
    answers = [
        _answer(
            # The environment has no pip of its own: it was made by the pip of the Python below it.
            str(Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"),
            "-c",
            "from pip._internal.models.index import PyPI; print(PyPI.netloc, PyPI.file_storage_domain)",
        ),
        _answer("npm", "config", "get", "registry"),
        _answer("go", "env", "GOPROXY", "GOSUMDB"),
    ]
    words = re.split(r"[\s,|]+", " ".join(answers))
    hosts = {urlsplit(word if "//" in word else f"//{word}").hostname or "" for word in words}
    return {host for host in hosts if "." in host}


def _answer(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=60).stdout


def test_relative_links_of_pages_lead_somewhere() -> None:
    """A page is moved together with the links to it."""
    assert not [
        f"{page}: {target}"
        for page in _markdown_pages()
        for target in _relative_targets((ROOT / page).read_text(encoding="utf-8"))
        if not (ROOT / page.parent / target).exists()
    ]


def _relative_targets(markdown: str) -> list[str]:
    targets = [inline or reference for inline, reference in _LINK.findall(_FENCED.sub("", markdown))]
    paths = [target.partition("#")[0] for target in targets if not urlsplit(target).scheme]
    return [path for path in paths if path]


def test_links_are_found_where_they_are_links() -> None:
    """The search behind the test above sees both kinds of link, and no code."""
    markdown = "[a](a.md#part) [b](https://example.org/b) [c](#here)\n```text\n[d](d.md)\n```\n[e]: e/\n"
    assert _relative_targets(markdown) == ["a.md", "e/"]


@pytest.mark.parametrize("script", [".ci/run"])
def test_scripts_can_be_started(script: str) -> None:
    """A script has its executable bit and parses."""
    assert os.access(ROOT / script, os.X_OK)
    subprocess.run(["bash", "-n", ROOT / script], check=True)
