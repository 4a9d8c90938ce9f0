"""Command lines of the jobs: what they mean, and what is refused before anything starts."""

from __future__ import annotations

import shlex
import sys
from argparse import ArgumentParser
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException

from aviso_spark.command import JOBS, main, parser
from aviso_spark.common.arguments import add_common
from aviso_spark.common.exit_codes import ExitCode
from aviso_spark.common.java import find_java, java_version
from aviso_spark.common.problems import JobError
from aviso_spark.common.session import settings_of
from aviso_spark.common.telling import judged, shown
from aviso_spark.jobs import batch_notify, stream_notify
from pyspark_aviso.options import OptionError

if TYPE_CHECKING:
    from pathlib import Path

URL = "http://127.0.0.1:1"


def batch(*arguments: str) -> batch_notify.BatchNotify:
    """Return what a command line of batch-notify means."""
    return batch_notify.wanted(vars(parser().parse_args(["batch-notify", *arguments, "--url", URL])))


def test_a_batch_is_read_from_its_command_line() -> None:
    """Expressions may have equals signs in them; the format is told by the suffix."""
    job = batch(
        "in.csv", "--event-type", "storms", "--map", "a=b = 'c'", "--receipts", "r", "--option", "sep=;"
    )
    assert job.expressions.fields == {"a": "b = 'c'"}
    assert (job.source.format, job.source.options, job.event_type) == ("csv", {"sep": ";"}, "storms")
    assert (job.service.url, job.id_scope, job.is_dry_run) == (URL, "", False)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["in.csv", "--event-type", "a"], "name a folder with --receipts"),
        (["in.csv", "--receipts", "r"], "--event-type says"),
        (["in", "--event-type", "a", "--dry-run"], "say it with --format"),
        (["in.csv", "--event-type", "a", "--dry-run", "--watermark", "w"], "go together"),
        (["in.csv", "--event-type", "a", "--dry-run", "--deadline-seconds", "-1"], "--deadline-seconds: "),
        (["in.csv", "--event-type", "a", "--dry-run", "--url", "nonsense"], "--url must be the address"),
    ],
)
def test_what_does_not_go_together_ends_with_code_2(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is started for that: there is no Spark in this test."""
    assert main(["batch-notify", "--url", URL, *arguments]) == ExitCode.NOT_UNDERSTOOD
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("argument", ["--from-sequence", "--to-sequence"])
def test_a_log_has_no_sequence_before_the_first(argument: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["archive", "folder", argument, "0", "--event-types", "a", "--url", URL]
    assert main(asked) == ExitCode.NOT_UNDERSTOOD
    assert f"{argument} 0: a log counts from 1 on" in capsys.readouterr().err


def test_a_range_of_an_archive_needs_its_one_event_type(capsys: pytest.CaptureFixture[str]) -> None:
    """Sequences of different logs have nothing to do with each other."""
    asked = ["archive", "folder", "--from-sequence", "5", "--event-types", "a,b", "--url", URL]
    assert main(asked) == ExitCode.NOT_UNDERSTOOD
    assert "name one event type" in capsys.readouterr().err


@pytest.mark.parametrize("job", [job.NAME for job in JOBS])
def test_help_has_examples_and_exit_codes(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever asks for help can paste something."""
    with pytest.raises(SystemExit) as ended:
        main([job, "--help"])
    told = capsys.readouterr().out
    assert ended.value.code == 0
    assert f"$ aviso-spark {job} " in told
    assert "exit codes:" in told


@pytest.mark.parametrize("job", JOBS, ids=lambda job: str(job.NAME))
def test_examples_of_the_help_are_understood(job: object) -> None:
    """What can be pasted must not be refused."""
    for line in str(getattr(job, "MORE", "")).replace("\\\n", " ").splitlines():
        if "$ aviso-spark" in line:
            words = shlex.split(line.partition("aviso-spark ")[2])
            read = vars(parser().parse_args([*words, *([] if "--url" in words else ["--url", URL])]))
            assert job.wanted(read) is not None  # type: ignore[attr-defined]  # a module, which has no type of its own


def test_there_is_no_argument_for_a_token() -> None:
    """Command lines are seen by everybody on a machine."""
    with pytest.raises(SystemExit):
        parser().parse_args(["archive", "folder", "--url", URL, "--token", "secret"])


def test_the_address_may_come_from_the_environment() -> None:
    """In a cluster it is said once."""
    made = ArgumentParser()
    add_common(made, environ={"AVISO_URL": "http://there"})
    assert made.parse_args([]).url == "http://there"


# --- the session and its Java ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "version"),
    [
        ('openjdk version "17.0.15" 2025', 17),
        ('java version "1.8.0_202"', 1),
        ('openjdk version "21" 2023', 21),
        ("?", None),
    ],
)
def test_the_version_of_java_is_its_major_number(told: str, version: int | None) -> None:
    """Java 8 and older begin with 1, which is as unfit."""
    assert java_version(told) == version


def test_a_machine_without_java_is_told_what_to_install(tmp_path: Path) -> None:
    """JAVA_HOME goes before the path, as it does for Spark."""
    with pytest.raises(JobError, match="there is none: install Java 17 or 21"):
        find_java({"JAVA_HOME": str(tmp_path), "PATH": "/usr/bin"})


def test_a_java_of_another_version_is_told(tmp_path: Path) -> None:
    """It is the program itself that says which it is."""
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nprint('openjdk version \"11.0.2\"')\n")
    program.chmod(0o755)
    with pytest.raises(JobError, match="Java 11: install Java 17 or 21"):
        find_java({"JAVA_HOME": str(tmp_path)})


def test_under_spark_submit_nothing_is_said_about_the_master() -> None:
    """Whoever submits has said it; what keeps results right is set everywhere."""
    submitted = settings_of("archive", master=None, settings={}, environ={"PYSPARK_GATEWAY_PORT": "1"})
    assert "spark.master" not in submitted
    assert (submitted["spark.speculation"], submitted["spark.sql.session.timeZone"]) == ("false", "UTC")
    alone = settings_of("archive", master=None, settings={"spark.ui.enabled": "true"}, environ={})
    assert (alone["spark.master"], alone["spark.ui.enabled"]) == ("local[*]", "true")


def stream(*arguments: str) -> stream_notify.StreamNotify:
    """Return what a command line of stream-notify means."""
    return stream_notify.wanted(vars(parser().parse_args(["stream-notify", *arguments, "--url", URL])))


KEPT = ("--event-type", "storms", "--checkpoint", "c", "--receipts", "r")


def test_a_stream_is_read_from_its_command_line() -> None:
    """A limit is called otherwise in each source; how often it looks is a duration as people write it."""
    job = stream("in", "--format", "json", "--columns", "a int", "--max-per-trigger", "5", *KEPT)
    assert (job.source.format, job.source.columns) == ("json", "a int")
    assert (job.source.options, job.trigger) == ({"maxFilesPerTrigger": "5"}, ("10 seconds", 10))
    kafka = stream(
        "--format", "kafka", "--option", "subscribe=t", "--max-per-trigger", "5", "--available-now", *KEPT
    )
    assert (kafka.source.name, kafka.trigger) == ("", None)
    assert kafka.source.options == {"subscribe": "t", "maxOffsetsPerTrigger": "5"}


def test_objects_of_a_folder_are_followed_without_their_content() -> None:
    """Those in folders below it are objects, too."""
    source = stream("--new-objects", "/data", "--glob", "*.grib2", *KEPT).source
    assert (source.name, source.format, source.options["pathGlobFilter"]) == (
        "/data",
        "binaryFile",
        "*.grib2",
    )
    assert source.options["recursiveFileLookup"] == "true"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["in", "--format", "json", "--receipts", "r"],
            "name a folder with --checkpoint: a restart must know",
        ),
        (["in", "--format", "json", "--checkpoint", "c"], "name a folder with --receipts"),
        (["--format", "json", "--dry-run"], "name what is followed: a folder"),
        (["--dry-run"], "name what is followed: a folder"),
        (["in", "--new-objects", "f", "--dry-run"], "--new-objects is a source of its own"),
        (["in", "--format", "json", "--glob", "*", "--dry-run"], "--option pathGlobFilter"),
        (
            ["--format", "rate", "--max-per-trigger", "5", "--dry-run"],
            "it is not known what 'rate' calls its limit",
        ),
        (
            ["--format", "rate", "--trigger", "often", "--dry-run"],
            "--trigger 'often' is no duration: say 500ms",
        ),
        (["in", "--format", "json", "--max-per-trigger", "0", "--dry-run"], "a batch takes 1 at least"),
    ],
)
def test_a_stream_that_does_not_go_together_ends_with_code_2(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line names the argument and what to do."""
    asked = ["stream-notify", *arguments, "--event-type", "storms", "--url", URL]
    assert main(asked) == ExitCode.NOT_UNDERSTOOD
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["batch-notify", "in.csv", "--event-typ", "a"],
            "there is no argument --event-typ: did you mean --event-type?",
        ),
        (
            ["stream-notify", "--event-type", "a", "--triger=5s"],
            "there is no argument --triger=5s: did you mean --trigger?",
        ),
        (
            ["stream-notify", "in", "--event-type", "a", "--trigger", "1s", "--available-now"],
            "not allowed with argument",
        ),
        (["notify"], "invalid choice: 'notify'"),
    ],
)
def test_an_argument_that_there_is_not_is_told_in_one_line(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the nearest that there is, and without pages of usage before it."""
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--url", URL])
    said = capsys.readouterr().err
    assert (ended.value.code, said.count("\n")) == (ExitCode.NOT_UNDERSTOOD, 1)
    assert told in said


@pytest.mark.parametrize(
    ("error", "is_stopping", "code"),
    [
        (OptionError("option"), False, ExitCode.NOT_UNDERSTOOD),
        (JobError("no Java"), False, ExitCode.FAILED),
        (RuntimeError("[SPARK_JOB_CANCELLED] Job 1 cancelled"), True, ExitCode.STOPPED),
        (RuntimeError("broken"), False, ExitCode.FAILED),
        (
            AnalysisException("[UNRESOLVED_COLUMN] no column. SQLSTATE: 42703; line 1"),
            False,
            ExitCode.NOT_UNDERSTOOD,
        ),
    ],
)
def test_a_failure_has_its_exit_code(error: Exception, is_stopping: bool, code: ExitCode) -> None:
    """What was asked for wrongly is not what could not be done."""
    assert judged(error, is_stopping=is_stopping)[0] == code


def test_of_a_failure_in_a_worker_its_own_words_are_told() -> None:
    """The stack between them helps nobody who runs a job."""
    text = (
        "An exception was thrown from the Python worker: Traceback (most recent call last):\n"
        '  File "receipts.py", line 1, in post\n'
        "pyspark_aviso.transport.Refused: posting: the service refused it with 403: no\n\nJVM stacktrace: …"
    )
    assert shown(RuntimeError(text)) == "posting: the service refused it with 403: no"
    assert shown(ValueError("plain")) == "plain"
    java = (
        "An error occurred while calling o1.\n: java.io.IOException: no\n\tat a.b\nCaused by: x.NoSpace: full"
    )
    assert shown(RuntimeError(java)) == "x.NoSpace: full"
    assert shown(ValueError("[NO_COLUMN.MORE] There is none. SQLSTATE: 42703; line 1")) == "There is none."
