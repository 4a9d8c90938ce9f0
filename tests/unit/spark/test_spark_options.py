"""Options: typed, any spelling of their names, and refusals that say what to do."""

from __future__ import annotations

import pickle
import subprocess
import sys
import traceback
from typing import TYPE_CHECKING, Literal

import pytest

from pyspark_aviso.credentials import Credentials
from pyspark_aviso.options import OptionError, read_options

if TYPE_CHECKING:
    from pathlib import Path

URL = "http://localhost:8000"


def test_options_are_typed_and_found_by_any_spelling_of_their_names() -> None:
    """Spark hands over names in lower case and values as text."""
    options = read_options(
        {"URL": URL, "inflight": "4", "ACCEPTREPEATS": "true", "deadlineSeconds": "1.5"}, "write"
    )

    assert (options.url, options.in_flight, options.accept_repeats, options.deadline_seconds) == (
        URL,
        4,
        True,
        1.5,
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "there is no option `url`"),
        ({"url": "localhost:8000"}, "option 'url' must be the address"),
        ({"url": "http://user:secret@host"}, "AVISO_TOKEN"),
        ({"url": "http://127.0.0.1:8O00"}, "its port is a number"),
        ({"url": "http://[::1"}, "an IPv6 address is in brackets"),
        ({"url": "http://user:s3cret/@host"}, "option 'url' must be the address"),
        ({"url": URL, "deadlineSeconds": "inf"}, "option 'deadlineSeconds' must be a number of seconds"),
        ({"url": URL, "deadlineSeconds": "nan"}, "option 'deadlineSeconds'"),
        ({"url": URL, "inFlght": "4"}, "did you mean 'inFlight'"),
        ({"url": URL, "batch_bytes": "4"}, "did you mean 'batchBytes'"),
        ({"url": URL, "zzz": "4"}, "there are: url"),
        ({"url": URL, "inFlight": "many"}, "option 'inFlight'"),
        ({"url": URL, "inFlight": "0"}, "option 'inFlight'"),
        ({"url": URL, "onReject": "ignore"}, "option 'onReject'"),
        ({"url": URL, "path": "/data"}, "'url' instead"),
        ({"url": URL, "token": "s3cret"}, "AVISO_TOKEN"),
        ({"url": URL, "Access_Token": "s3cret"}, "tokenFile"),
    ],
)
def test_a_wrong_option_is_refused_with_its_name_and_the_remedy(given: dict[str, str], told: str) -> None:
    """And never with the value of a secret."""
    with pytest.raises(OptionError) as refusal:
        read_options(given, "write")

    assert told in str(refusal.value)
    assert "s3cret" not in str(refusal.value)


@pytest.mark.parametrize("kind", ["read", "stream"])
def test_a_list_of_event_types_without_any_is_not_all_of_them(kind: Literal["read", "stream"]) -> None:
    for text in (",", " , ,"):
        with pytest.raises(OptionError, match="option 'eventTypes' names none"):
            read_options({"url": URL, "eventTypes": text}, kind)
    assert read_options({"url": URL, "eventTypes": ""}, kind).event_types == ""


def test_what_spark_passes_on_to_every_source_is_no_unknown_option() -> None:
    """A query's checkpoint reaches its sources as well as its sink."""
    options = read_options({"url": URL, "eventtypes": "a,b", "checkpointlocation": "/c"}, "stream")

    assert options.event_types == "a,b"


def test_a_token_is_read_where_it_is_used_and_never_shown_or_pickled(tmp_path: Path) -> None:
    """A file that was replaced is read again, as a mounted secret is replaced when it is rotated."""
    file = tmp_path / "token"
    file.write_text("first\n")
    credentials = Credentials(str(file))
    assert credentials.headers({}) == {"Authorization": "Bearer first"}

    other = tmp_path / "other"
    other.write_text("later\n")
    other.replace(file)

    assert credentials.headers({}) == {"Authorization": "Bearer later"}
    assert b"later" not in pickle.dumps(credentials)
    assert "later" not in repr(credentials)
    assert pickle.loads(pickle.dumps(credentials)).headers({}) == {"Authorization": "Bearer later"}  # noqa: S301 (our own)


@pytest.mark.parametrize(
    ("environ", "headers"),
    [({}, {}), ({"AVISO_TOKEN": ""}, {}), ({"AVISO_TOKEN": "abc\n"}, {"Authorization": "Bearer abc"})],
)
def test_the_environment_has_the_token_where_no_file_is_named(
    environ: dict[str, str], headers: dict[str, str]
) -> None:
    """No token is no header."""
    assert Credentials().headers(environ) == headers


def test_a_token_file_that_is_a_folder_is_told_like_one_that_is_not_there(tmp_path: Path) -> None:
    for file in (tmp_path, tmp_path / "none"):
        with pytest.raises(OptionError, match=r"cannot be read \(.*named by option 'tokenFile'"):
            Credentials(str(file)).headers({})


@pytest.mark.parametrize(
    "text", ["S3CRET\n# rotated 2030", "S3CRET\r\nT0KEN", "S3CRET\u2019T0KEN", "S3CRET T0KEN"]
)
def test_a_text_that_is_no_token_is_refused_by_its_place_and_never_shown(text: str, tmp_path: Path) -> None:
    """The errors of an HTTP client would show it."""
    file = tmp_path / "token"
    file.write_text(text, encoding="utf-8", newline="")
    named = Credentials(str(file))
    for credentials, environ, where in (
        (named, {}, str(file)),
        (Credentials(), {"AVISO_TOKEN_FILE": str(file)}, str(file)),
        (Credentials(), {"AVISO_TOKEN": text}, "AVISO_TOKEN"),
    ):
        with pytest.raises(OptionError, match="one line of visible ASCII") as refusal:
            credentials.headers(environ)
        told = "".join(traceback.format_exception(refusal.value))
        assert where in told
        assert "S3CRET" not in told
        assert "T0KEN" not in told


def test_importing_the_package_imports_nothing_heavy() -> None:
    """Spark imports it to look for sources in every session, also in those that never use it."""
    code = (
        "import sys, pyspark_aviso; "
        "print([name for name in ('pyspark', 'pyarrow', 'msgspec', 'urllib3') if name in sys.modules])"
    )

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert said.stdout.strip() == "[]"
