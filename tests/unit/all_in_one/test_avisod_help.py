"""What `--help` says is true, and the reference pages say the same."""

from __future__ import annotations

import io
import re
import shlex
from typing import TYPE_CHECKING, Final

import pytest

from aviso_all_in_one.__main__ import perform
from aviso_all_in_one.command.arguments import help_texts, parse
from aviso_all_in_one.live.sight import Sight
from aviso_all_in_one.reference import field_texts, main, pages
from aviso_all_in_one.sample import SAMPLES_FOLDER
from aviso_core.settings.model import Settings
from repo.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from aviso_all_in_one.live.sight import Wish
    from aviso_core.settings.model import JetStream

HELP: Final = help_texts()
EXAMPLES: Final = sorted({line for text in HELP.values() for line in re.findall(r"\$ avisod (.+)", text)})
CONFIGURATION = """\
application: {host: h, port: 1}
notification_backend: {kind: jetstream, jetstream: {retention_time: 7d}}
notification_schema:
  runs: {topic: {base: runs, key_order: [n]}, identifier: {n: {type: IntHandler, required: true}}}
"""


def test_every_command_has_a_help() -> None:
    assert list(HELP) == [
        "avisod",
        "avisod serve",
        "avisod check",
        "avisod schema",
        "avisod schema diff",
        "avisod schema import",
        "avisod version",
    ]


@pytest.mark.parametrize("command", HELP)
def test_a_help_fits_on_a_page_and_names_what_follows(command: str) -> None:
    """Wide lines would be broken by the terminal, in the middle of a word."""
    text = HELP[command]
    assert text.startswith(f"usage: {command}")
    assert max(map(len, text.splitlines())) <= 112
    if command not in ("avisod", "avisod schema", "avisod version"):
        assert "exit codes:" in text


@pytest.mark.parametrize("command", HELP)
def test_asking_for_help_succeeds(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse([*command.split()[1:], "--help"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == HELP[command]


async def _service(settings: Settings, *, on_ready: Callable[[int], None]) -> None:
    on_ready(settings.application.port)


async def _look(jetstream: JetStream, wishes: Sequence[Wish]) -> Sight:
    return Sight()


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_works(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With good files under the names that the examples use, each of them succeeds."""
    monkeypatch.chdir(tmp_path)
    for name in ("config.yaml", "services.yaml"):
        (tmp_path / name).write_text(CONFIGURATION)
    (tmp_path / "schemas").mkdir()
    manifest = (SAMPLES_FOLDER / "weather-alert.yaml").read_text()
    for name in ("old.yaml", "new.yaml", "schemas/alert.yaml"):
        (tmp_path / name).write_text(manifest)
    out, err = io.StringIO(), io.StringIO()
    wanted = parse(shlex.split(example))
    code = perform(wanted, environ={}, out=out, err=err, service=_service, look=_look)
    assert code == 0, out.getvalue() + err.getvalue()


def test_there_are_examples_of_everything() -> None:
    shown = " ".join(EXAMPLES)
    assert all(
        word in shown
        for word in (
            "serve",
            "check",
            "schema diff",
            "--live",
            "schema import",
            "--adopt",
            "--json",
            "--log nats",
            "--samples",
        )
    )


# --- the pages --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", pages())
def test_the_reference_pages_are_up_to_date(name: str) -> None:
    """`python -m aviso_all_in_one.reference docs/reference` writes them."""
    assert (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8") == pages()[name]


def test_the_pages_are_written_where_one_says(tmp_path: Path) -> None:
    main(tmp_path)
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == pages()


def test_the_page_has_a_row_for_every_setting() -> None:
    page = pages()["configuration.md"]
    assert "| `application.port` | 0 to 65535 | required | Port to listen on; 0 takes a free one. |" in page
    assert "| `auth.jwt_secret` | text, never shown | none |" in page
    assert "| `auth.issuers[].audience` | text | required |" in page
    assert "`aviso_core" not in page


def test_the_text_of_a_setting_is_what_stands_below_it() -> None:
    texts = field_texts(Settings)
    assert texts.keys() == set(Settings.__struct_fields__)
    assert texts["application"] == "Where the service listens."
