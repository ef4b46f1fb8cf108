"""Entry point of an application started by spark-submit: reads a request and sends an answer."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from pyspark.sql import SparkSession

from airflow_delta_provider.domain.report.transport import AnswerFile, marker_lines
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.text import printed, visible_lines
from airflow_delta_provider.jobs.process import Submitter, collect_seldom, forgo_pandas
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session import submitted_session
from airflow_delta_provider.jobs.storage.storage import Storage


class Answer(Protocol):
    """Sends progress and the result of a job to the task that waits for it."""

    def begin(self, storage: Storage) -> None:
        """Make sure that an answer can be sent, before the job does anything else."""

    def progress(self, line: str) -> None:
        """Send a line for the log."""

    def finish(self, channel: str, document: Any, stop: Callable[[], object]) -> None:
        """Send the report, or the error that prevented it.

        :param channel: ``report`` or ``error``
        :param stop: function that stops the Spark session
        """


class OutputAnswer:
    """An answer in lines of the driver's output.

    :param submission: nonce of the submission
    """

    def __init__(self, submission: str) -> None:
        self._submission = submission

    def begin(self, storage: Storage) -> None:
        """Do nothing: output is always available."""

    def progress(self, line: str) -> None:
        """Send a line for the log of the task."""
        self._send("progress", line)

    def finish(self, channel: str, document: Any, stop: Callable[[], object]) -> None:
        """Send the document before and after stopping the session.

        Log lines of a stopping session can cut one copy, and a session that hangs can lose the other.
        """
        self._send(channel, document)
        with suppress(Exception):  # the session may have ended before
            stop()
        self._send(channel, document)

    def _send(self, channel: str, document: Any) -> None:
        sys.stdout.flush()
        for line in marker_lines(channel, self._submission, document):
            os.write(sys.stdout.fileno(), f"{line}\n".encode())


class FileAnswer:
    """An answer in a file that the worker reads. Progress goes to the driver's own log.

    :param file: the file, as a URI that the driver's storage can write
    """

    def __init__(self, file: AnswerFile) -> None:
        self._file = file
        self._storage: Storage | None = None

    def begin(self, storage: Storage) -> None:
        """Write a marker next to the file: a driver that cannot write there must change nothing.

        :raises Exception: error of the storage, if the marker cannot be written
        """
        storage.write(storage.qualify(self._file.begun), self._file.submission.encode())
        self._storage = storage

    def progress(self, line: str) -> None:
        print(*printed(visible_lines(line)), sep="\n", flush=True)

    def finish(self, channel: str, document: Any, stop: Callable[[], object]) -> None:
        """Write the file as a whole. Print the document if it cannot be written.

        :raises Exception: error of the storage, if the file cannot be written
        """
        try:
            if self._storage is None:
                print(json.dumps(document, indent=1), flush=True)
                return
            content = json.dumps(self._file.content(channel, document)).encode()
            self._storage.write(self._storage.qualify(self._file.path), content)
        except Exception:
            print(json.dumps(document, indent=1), flush=True)
            raise
        finally:
            with suppress(Exception):  # the session may have ended before
                stop()


#: Seconds for the JVM's thread that copies this process's output to finish after the last line.
_DRAIN = 0.2


def main(request: str, submission: str, log_level: str = "", folder: str = "", *, lock: str | None = None) -> int:
    """Run the request and send its report, or the error that prevented it.

    :param request: the request, as JSON
    :param submission: nonce of the submission
    :param log_level: log level of the Spark context; empty keeps the default
    :param folder: folder for the answer file; empty sends the answer through the output
    :param lock: path of the lock file that shows that the submitter is alive: see :class:`Submitter`
    :return: exit code: 0 if a report was sent, else 1
    """
    spark: SparkSession | None = None
    answer: Answer = FileAnswer(AnswerFile(folder, submission)) if folder else OutputAnswer(submission)
    submitter = Submitter(lock)
    submitter.watch()
    forgo_pandas()
    collect_seldom()
    try:
        spark = submitted_session(f"airflow-delta-provider {submission}")
        if log_level:
            spark.sparkContext.setLogLevel(log_level)
        session = SparkDeltaSession(spark, submitter)
        answer.begin(session.storage)
        report = run(JobRequest.from_json(json.loads(request)), session, progress=answer.progress)
        channel, document, code = "report", report.to_json(), 0
    except BaseException as error:
        channel, code = "error", 1
        document = {"message": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
    answer.finish(channel, document, spark.stop if spark is not None else lambda: None)
    time.sleep(_DRAIN)
    return code
