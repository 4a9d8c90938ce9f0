"""Command lines of the operator: what they mean, what is refused and how that is said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from aviso_operator.options import (
    PREFIX,
    PrintCrd,
    ReleaseFinalizers,
    Run,
    ShowVersion,
    Watched,
    help_texts,
    parse,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aviso_operator.options import Wanted

EVERYWHERE: Final = Watched(None)
WEATHER: Final = Watched(("weather",))
BOTH: Final = Watched(("weather", "ocean"))


@pytest.mark.parametrize(
    ("line", "environ", "wanted"),
    [
        ("run --all-namespaces", {}, Run(watched=EVERYWHERE)),
        ("run --namespace weather --namespace ocean --namespace weather", {}, Run(watched=BOTH)),
        ("run", {"NAMESPACES": "*"}, Run(watched=EVERYWHERE)),
        ("run", {"NAMESPACES": " weather, ocean,,"}, Run(watched=BOTH)),
        ("run --namespace weather", {"NAMESPACES": "*"}, Run(watched=WEATHER)),
        ("run --all-namespaces", {"NAMESPACES": "weather"}, Run(watched=EVERYWHERE)),
        (
            "run --namespace weather --listen 127.0.0.1:0 --resync-seconds 5 --withdrawal-seconds 0.5 --log-level WARN",
            {},
            Run(
                watched=WEATHER,
                host="127.0.0.1",
                port=0,
                resync_seconds=5,
                withdrawal_seconds=0.5,
                log_level="warn",
            ),
        ),
        ("run --namespace weather --listen [::1]:9000", {}, Run(watched=WEATHER, host="::1", port=9000)),
        ("run --namespace weather --listen :9000", {}, Run(watched=WEATHER, port=9000)),
        (
            "run --namespace weather",
            {"LISTEN": "127.0.0.1:1", "RESYNC_SECONDS": "60", "WITHDRAWAL_SECONDS": "7"},
            Run(watched=WEATHER, host="127.0.0.1", port=1, resync_seconds=60, withdrawal_seconds=7),
        ),
        (
            "run --namespace weather --resync-seconds 5",
            {"RESYNC_SECONDS": "no number, and nobody asks"},
            Run(watched=WEATHER, resync_seconds=5),
        ),
        (
            "run --namespace weather",
            {"LISTEN": "", "RESYNC_SECONDS": "", "WITHDRAWAL_SECONDS": ""},
            Run(watched=WEATHER),
        ),
        ("release-finalizers --namespace weather", {}, ReleaseFinalizers(watched=WEATHER)),
        ("release-finalizers", {"NAMESPACES": "*"}, ReleaseFinalizers(watched=EVERYWHERE)),
        ("crd", {}, PrintCrd()),
        ("version", {}, ShowVersion()),
    ],
)
def test_what_a_command_line_means(line: str, environ: Mapping[str, str], wanted: Wanted) -> None:
    given = {f"{PREFIX}{name}": value for name, value in environ.items()}
    assert parse(line.split(), given) == wanted


@pytest.mark.parametrize(
    ("line", "environ", "said"),
    [
        ("", {}, "COMMAND"),
        ("run", {}, "Give --namespace NAME or --all-namespaces, or set AVISO_OPERATOR_NAMESPACES"),
        ("run", {"NAMESPACES": " , "}, "or set AVISO_OPERATOR_NAMESPACES"),
        ("release-finalizers", {}, "which namespaces?"),
        ("run --namespace a --all-namespaces", {}, "give --namespace or --all-namespaces, not both"),
        ("run --namespace *", {}, "for the whole cluster give --all-namespaces"),
        ("run", {"NAMESPACES": "*,weather"}, "'*' is no name of a namespace"),
        ("run --namespace Weather", {}, "'Weather' is no name of a namespace"),
        ("run --namespace a/../b", {}, "'a/../b' is no name of a namespace"),
        ("run --namespace a --listen 8080", {}, "'8080' is no address; write it such as 0.0.0.0:8080"),
        ("run --namespace a --listen a:99999", {}, "'a:99999' is no address"),
        ("run --namespace a", {"LISTEN": "a:b"}, "argument --listen: 'a:b' is no address"),
        ("run --namespace a --resync-seconds 0", {}, "'0' is no number of seconds; write it such as 300"),
        ("run --namespace a --resync-seconds nan", {}, "'nan' is no number of seconds"),
        ("run --namespace a --withdrawal-seconds 5m", {}, "'5m' is no number of seconds"),
        ("run --namespace a --log-level loud", {}, "choose from"),
        ("run --name a", {}, "--name"),
    ],
)
def test_what_is_refused_says_what_to_write(
    line: str, environ: Mapping[str, str], said: str, capsys: Any
) -> None:
    given = {f"{PREFIX}{name}": value for name, value in environ.items()}
    with pytest.raises(SystemExit) as left:
        parse(line.split(), given)
    assert left.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", help_texts())
def test_help_is_printed_and_is_a_success(name: str, capsys: Any) -> None:
    _, *command = name.split()
    with pytest.raises(SystemExit) as left:
        parse([*command, "--help"], {})
    assert left.value.code == 0
    assert capsys.readouterr().out == help_texts()[name]


def test_defaults_are_told_as_they_are() -> None:
    """The help is what a deployment is written from."""
    run, defaults = help_texts()["aviso-operator run"], Run(watched=EVERYWHERE)
    for told in (f"{defaults.host}:{defaults.port}", defaults.resync_seconds, defaults.withdrawal_seconds):
        assert f"({told if isinstance(told, str) else format(told, 'g')})" in run
    assert len(help_texts()) == 5
