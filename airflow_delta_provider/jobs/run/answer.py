"""Answers of a job that spark-submit started: lines of output, or a file if the driver runs elsewhere."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from airflow_delta_provider.domain.report.answer_file import AnswerFile
from airflow_delta_provider.domain.report.marker import marker_lines
from airflow_delta_provider.domain.visible import printed, visible_lines
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
