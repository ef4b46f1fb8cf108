from __future__ import annotations

import subprocess
import sys

import pytest

from airflow_delta_provider.jobs.spark.jvm_output import JvmOutput

CHATTY = "echo resolving; echo '26/11/22 WARN Utils: loopback' >&2; echo '26/11/22 ERROR Client: refused' >&2"


def start(output: JvmOutput, script: str = CHATTY) -> None:
    with output.taken():
        subprocess.run(["sh", "-c", script], check=True)
    print("result")


def test_result_stands_alone_and_what_was_printed_is_kept(capfd: pytest.CaptureFixture[str]) -> None:
    output = JvmOutput(shown=False)
    start(output)
    assert capfd.readouterr() == ("result\n", "")
    assert output.last_lines(errors_only=False) == [
        "resolving",
        "26/11/22 WARN Utils: loopback",
        "26/11/22 ERROR Client: refused",
    ]
    assert output.last_lines(errors_only=True) == ["26/11/22 ERROR Client: refused"]


def test_shown_it_goes_to_standard_error_alone(capfd: pytest.CaptureFixture[str]) -> None:
    output = JvmOutput(shown=True)
    start(output)
    captured = capfd.readouterr()
    assert captured.out == "result\n"
    assert captured.err.count("\n") == 3
    assert output.last_lines(errors_only=False) == []


def test_of_many_lines_the_last_are_told_also_while_more_are_printed() -> None:
    output = JvmOutput(shown=False)
    start(output, "seq 100000")
    lines = output.last_lines(errors_only=False)
    assert (len(lines), lines[-1]) == (40, "100000")
    start(output, "echo more")
    assert output.last_lines(errors_only=False)[-2:] == ["100000", "more"]


def test_streams_are_given_back_after_a_failure(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        start(JvmOutput(shown=False), "echo lost; exit 1")
    print("back")
    assert capfd.readouterr() == ("back\n", "")


def test_process_without_an_output_starts_all_the_same() -> None:
    code = (
        "import os, sys; os.close(1); sys.stdout = None\n"
        "from airflow_delta_provider.jobs.spark.jvm_output import JvmOutput\n"
        "with JvmOutput(shown=False).taken(): os.write(2, b'lost')\n"
        "os.write(2, b'kept')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "kept")
