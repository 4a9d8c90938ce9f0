"""Files of a folder: everything in it, nothing outside of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aviso_schema.static import File, Listing, find

if TYPE_CHECKING:
    from collections.abc import Callable

    from unit.schema_service.conftest import Service

    Serve = Callable[[Path], Service]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with files, beside a secret."""
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "page-two").mkdir()
    (tmp_path / "page-two" / "secret.txt").write_text("secret")
    inside = tmp_path / "page"
    (inside / "sub dir").mkdir(parents=True)
    (inside / "index.html").write_text("<p>{{SERVER_VERSION}}</p>")
    (inside / "a b&<ü>.txt").write_text("text")
    (inside / "sub dir" / "photo.png").write_bytes(b"\x89PNG")
    (inside / ".hidden").write_text("secret")
    (inside / "empty").write_bytes(b"")
    (inside / "data.json").write_text("{}")
    (inside / "archive.tar.gz").write_bytes(b"gz")
    (inside / "drawing.svg").write_text("<svg/>")
    (inside / "unknown.kind").write_bytes(b"?")
    (inside / "outside.txt").symlink_to(tmp_path / "secret.txt")
    (inside / "outside").symlink_to(tmp_path / "page-two")
    (inside / "loop").symlink_to(inside / "loop")
    os.mkfifo(inside / "pipe")
    # As a cluster mounts a folder: names lead into a hidden directory that is swapped as a whole.
    (inside / "..2026").mkdir()
    (inside / "..2026" / "mounted.css").write_text("p {}")
    (inside / "..data").symlink_to("..2026")
    (inside / "mounted.css").symlink_to("..data/mounted.css")
    return inside


@pytest.mark.parametrize(
    ("path", "media_type", "body"),
    [
        ("index.html", "text/html; charset=utf-8", b"<p>{{SERVER_VERSION}}</p>"),
        ("a%20b%26%3C%C3%BC%3E.txt", "text/plain; charset=utf-8", b"text"),
        ("sub%20dir/photo.png", "image/png", b"\x89PNG"),
        ("empty", "application/octet-stream", b""),
        ("data.json", "application/json; charset=utf-8", b"{}"),
        ("archive.tar.gz", "application/octet-stream", b"gz"),
        ("drawing.svg", "image/svg+xml; charset=utf-8", b"<svg/>"),
        ("unknown.kind", "application/octet-stream", b"?"),
        ("mounted.css", "text/css; charset=utf-8", b"p {}"),
        ("index.html?x=../..", "text/html; charset=utf-8", b"<p>{{SERVER_VERSION}}</p>"),
    ],
)
def test_a_file_is_served(serve: Serve, folder: Path, path: str, media_type: str, body: bytes) -> None:
    """Unchanged, with its type and length, and browsers are told not to guess another type."""
    reply = serve(folder).get(f"/static/{path}")
    assert (reply.status, reply.body) == (200, body)
    assert reply.headers["content-type"] == media_type
    assert reply.headers["content-length"] == str(len(body))
    assert reply.headers["x-content-type-options"] == "nosniff"


_NOT_THERE = (
    "nope", "index.html/", "index.html/x", "../secret.txt", "..%2Fsecret.txt", "%2e%2e/secret.txt",
    "%2E%2E%2Fsecret.txt", "sub%20dir/../../secret.txt", "./index.html", "sub%20dir//photo.png", "/index.html",
    "%2Fetc%2Fpasswd", "//etc/passwd", "..%5Csecret.txt", "..\\secret.txt", "index.html%00", "%00", "a" * 5000,
    ".hidden", "..data/mounted.css", "%2e", "outside.txt", "outside/secret.txt", "outside/",
    "../page-two/secret.txt", "loop", "pipe", "%FF", "%",
)  # fmt: skip


@pytest.mark.parametrize("path", _NOT_THERE, ids=lambda path: path[:30])
def test_nothing_else_is(serve: Serve, folder: Path, path: str) -> None:
    """Whatever leads out of the folder, is hidden, or is no regular file."""
    reply = serve(folder).get(f"/static/{path}")
    assert (reply.status, reply.body) == (404, b"")


def test_a_directory_is_listed(serve: Serve, folder: Path) -> None:
    """With the names that can be asked for, and with links that lead there."""
    service = serve(folder)
    page = service.get("/static/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert service.get("/static").body == page.body
    text = page.body.decode()
    assert '<a href="/static/a%20b%26%3C%C3%BC%3E.txt">a b&amp;&lt;ü&gt;.txt</a>' in text
    assert '<a href="/static/sub%20dir/">sub dir/</a>' in text
    for left_out in ("hidden", "..2026", "outside", "loop", "pipe"):
        assert left_out not in text
    assert "mounted.css" in text
    inner = service.get("/static/sub%20dir/")
    assert inner.body == service.get("/static/sub%20dir").body
    assert b'<a href="/static/sub%20dir/photo.png">photo.png</a>' in inner.body


def test_a_folder_that_is_not_there_has_nothing(serve: Serve, tmp_path: Path) -> None:
    """Neither files nor a list."""
    service = serve(tmp_path / "nowhere")
    assert service.get("/static/").status == 404
    assert service.get("/static/index.html").status == 404


def test_a_changed_file_is_another(serve: Serve, folder: Path) -> None:
    """By tag, and for those who send no tag by date."""
    service, path = serve(folder), "/static/data.json"
    os.utime(folder / "data.json", (1_000_000_000, 1_000_000_000))
    first = service.get(path)
    assert first.headers["last-modified"] == "Sun, 09 Sep 2001 01:46:40 GMT"
    assert service.get(path, If_Modified_Since="Sun, 09 Sep 2001 01:46:40 GMT").status == 304
    assert service.get(path, If_Modified_Since="Sun, 09 Sep 2001 01:46:39 GMT").status == 200
    assert service.get(path, If_Modified_Since="yesterday").status == 200
    dated = {"If_Modified_Since": "Sun, 09 Sep 2101 01:46:40 GMT"}
    assert service.get(path, If_None_Match='"other"', **dated).status == 200
    (folder / "data.json").write_text("[]")
    changed = service.get(path, If_None_Match=first.headers["etag"])
    assert (changed.status, changed.body) == (200, b"[]")


def test_a_large_file_arrives_whole(serve: Serve, folder: Path) -> None:
    """It is sent in pieces, never held as a whole."""
    content = os.urandom(3_000_001)
    (folder / "large.bin").write_bytes(content)
    assert serve(folder).get("/static/large.bin").body == content


_segments = st.lists(
    st.one_of(
        st.sampled_from(
            (b"..", b".", b"", b"/", b"\\", b"sub", b"secret.txt", b"page", b"~", b"%2e%2e", b"\0")
        ),
        st.binary(max_size=4),
    ),
    max_size=5,
)


@given(names=_segments)
def test_no_path_leads_out(tmp_path_factory: pytest.TempPathFactory, names: list[bytes]) -> None:
    """Whatever the segments are, what is found is inside."""
    outside = tmp_path_factory.getbasetemp() / "static-files"
    inside = outside / "page"
    (inside / "sub").mkdir(parents=True, exist_ok=True)
    for place in (outside, inside, inside / "sub"):
        (place / "secret.txt").write_text("secret")
    match find(inside, names):
        case File() as found:
            assert Path(os.fsdecode(found.path)).is_relative_to(inside.resolve())
            assert names[-1] == b"secret.txt"
        case Listing(names=listed):
            assert set(listed) <= {b"secret.txt", b"sub/"}
        case None:
            pass
