"""The home page and the page of the API: what stands in them, and that they need nobody else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

from aviso_core.settings.model import Application
from aviso_schema.home import PAGES, fill, static_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from unit.schema_service.conftest import Service

_FALLBACK: Final = b"<h1>Index file not found</h1><p>Please check the static files configuration.</p>"
_OUR_FILES: Final = sorted(path for path in PAGES.rglob("*") if path.is_file())


# --- a folder that somebody configured -------------------------------------------------------------------


def test_placeholders_are_filled_in(serve: Callable[[Path], Service], tmp_path: Path) -> None:
    """Fit for HTML, unknown ones and everything else left alone."""
    names = [
        "SERVER_VERSION",
        "CLIENT_DOCUMENTATION_URL",
        "SERVER_REPOSITORY_URL",
        "OTHER",
        "{SERVER_VERSION}",
    ]
    text = "|".join(f"{{{{{name}}}}}" for name in names)
    (tmp_path / "index.html").write_bytes(text.encode() + b"\xff")
    reply = serve(tmp_path).get("/")
    assert reply.status == 200
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert "content-security-policy" not in reply.headers
    assert reply.body == (
        b"1.2.3&lt;|https://docs.example.org/?a=1&amp;b=&#39;&quot;&lt;&gt;|https://github.com/ecmwf/aviso-server"
        b"|{{OTHER}}|{1.2.3&lt;}\xff"
    )


def test_what_was_put_in_is_not_looked_at_again() -> None:
    """A link may spell a placeholder."""
    texts = {b"A": b"{{B}}", b"B": b"{{A}}"}
    assert fill(b"{{A}}{{B}}{{ A }}", texts) == b"{{B}}{{A}}{{ A }}"


def test_a_page_is_read_when_it_is_asked_for(serve: Callable[[Path], Service], tmp_path: Path) -> None:
    """What is missing has a text of its own; what comes later is shown."""
    service = serve(tmp_path)
    missing = service.get("/")
    assert (missing.status, missing.body) == (200, _FALLBACK)
    assert missing.headers["content-type"] == "text/html; charset=utf-8"
    (tmp_path / "index.html").write_text("here")
    assert service.get("/", If_None_Match=missing.headers["etag"]).body == b"here"


@pytest.mark.parametrize("path", ["//", "/index.html", "/./"])
def test_the_home_page_has_one_path(service: Service, path: str) -> None:
    """Others lead nowhere."""
    assert service.get(path).status == 404


def test_a_folder_that_nobody_chose_is_ours() -> None:
    """The default is an image's; whoever names another folder gets that one, whatever is in it."""
    assert static_folder(Application(host="", port=0)) == PAGES / "home"
    chosen = Application(host="", port=0, static_files_path="/nowhere")
    assert str(static_folder(chosen)) == "/nowhere"


# --- our own pages ---------------------------------------------------------------------------------------


def test_our_pages_show_the_version_and_the_links(service: Service) -> None:
    """And nothing is left to fill in."""
    page = service.get("/").body.decode()
    assert "1.2.3&lt;" in page
    assert "https://sites.ecmwf.int/docs/aviso-server/main/" in page
    assert "{{" not in page


@pytest.mark.parametrize("path", ["/", "/swagger-ui/", "/swagger-ui/index.html"])
def test_our_pages_may_load_only_from_here(service: Service, path: str) -> None:
    """The policy says so, and everything that they name is there."""
    page = service.get(path)
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    folder = "/swagger-ui/" if "swagger" in path else "/"
    loaded = re.findall(r'<(?:link|script|img)[^>]+(?:href|src)="([^"]+)"', page.body.decode())
    assert loaded
    for name in loaded:
        assert service.get(folder + name).status == 200


@pytest.mark.parametrize(
    "path", ["/swagger-ui", "/swagger-ui//", "/swagger-ui/x/", "/swagger-ui/../home/index.html"]
)
def test_the_page_of_the_api_has_its_own_files_only(service: Service, path: str) -> None:
    """And no list of them."""
    assert service.get(path).status == 404


@pytest.mark.parametrize("file", _OUR_FILES, ids=lambda path: path.name)
def test_our_files_load_nothing_from_elsewhere(file: Path) -> None:
    """No address of another server, no script or style inside of a page, nothing put in as HTML."""
    text = file.read_text(encoding="utf-8").replace('"http://www.w3.org/2000/svg"', "")
    assert not re.search(
        r"https?://|//cdn|@import|innerHTML|insertAdjacentHTML|document\.write|\beval\b", text
    )
    if file.suffix == ".html":
        assert not re.search(r"<style|style=|\son[a-z]+=|<script(?![^>]* src=)", text)
        assert '<html lang="en">' in text
        assert 'name="viewport"' in text


def _ids(text: str) -> set[str]:
    return set(re.findall(r'\bid="([^"]+)"', text))


@pytest.mark.parametrize(
    ("page", "script"),
    [("home/index.html", "home/home.js"), ("reference/index.html", "reference/reference.js")],
)
def test_scripts_find_what_they_look_for(page: str, script: str) -> None:
    """Every element that a script asks for is in its page."""
    wanted = set(re.findall(r'querySelector\("#([a-z-]+)"\)', (PAGES / script).read_text(encoding="utf-8")))
    assert wanted
    assert wanted <= _ids((PAGES / page).read_text(encoding="utf-8"))
