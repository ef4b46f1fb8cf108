"""Channels for a job's answer: the driver's output in client mode, else a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import Any

from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.report.marker import MarkerReader, is_marker
from airflow_delta_provider.hooks.result_folder import ResultFolder


class JobCrash(Exception):
    """The job sent an error instead of a report.

    :param traceback: the job's Python traceback
    """

    def __init__(self, message: str, traceback: str) -> None:
        super().__init__(message)
        self.traceback = traceback


class ResultChannel(ABC):
    """The channel of a submission's answer."""

    @abstractmethod
    def take_line(self, line: str) -> list[str] | None:
        """Process a line of the driver's output.

        :return: progress to show; None if the line is not this provider's
        """

    @abstractmethod
    def answer(self) -> tuple[str, dict[str, Any]] | None:
        """Return the channel (``report`` or ``error``) and the document of the job's answer; None if there is none.

        :raises DeltaResultError: if it cannot be read
        :raises ValueError: if it is damaged
        """

    @abstractmethod
    def explain_absence(self) -> str:
        """Return the reason why there is no report, as far as known."""

    def report(self) -> JobReport | None:
        """Return the report, or None if there is none.

        :raises JobCrash: if the job sent an error instead
        :raises DeltaResultError: if it cannot be read
        :raises ValueError: if it is damaged
        """
        answer = self.answer()
        if answer is None:
            return None
        channel, document = answer
        if channel == "error":
            raise JobCrash(document["message"], document["traceback"])
        return JobReport.from_json(document)


class OutputChannel(ResultChannel):
    """Reads the answer from the driver's output."""

    def __init__(self, submission: str) -> None:
        self._reader = MarkerReader(submission)
        self._sent: dict[str, dict[str, Any]] = {}
        self._traceback: deque[str] = deque(maxlen=60)

    def take_line(self, line: str) -> list[str] | None:
        if not is_marker(line):
            self._watch_for_traceback(line)
            return None
        progress = []
        for channel, document in self._reader.feed(line):
            if channel == "progress":
                progress.append(str(document))
            else:
                self._sent[channel] = document
        return progress

    def answer(self) -> tuple[str, dict[str, Any]] | None:
        """Return the report if the job sent one, else the error."""
        return next(((name, self._sent[name]) for name in ("report", "error") if name in self._sent), None)

    def explain_absence(self) -> str:
        if self._traceback:
            return "The job's Python code failed before it could report:\n" + "\n".join(self._traceback)
        if self._reader.torn:
            return "The report arrived damaged: the driver's output was cut or mixed."
        if self._reader.foreign:
            return "The output held the report of another submission, which was refused."
        return "The driver's output held no report."

    def _watch_for_traceback(self, line: str) -> None:
        """Keep a Python traceback that was printed: Spark's own lines push it out of the log's tail."""
        if line.startswith("Traceback (most recent call last)"):
            self._traceback.clear()
            self._traceback.append(line.rstrip())
        elif self._traceback and (line.startswith(" ") or self._traceback[-1].startswith(" ")):
            self._traceback.append(line.rstrip())


class FileChannel(ResultChannel):
    """Reads the answer from a file that a remote driver wrote.

    :param folder: folder of the file
    """

    def __init__(self, folder: ResultFolder, submission: str) -> None:
        self._folder = folder
        self._submission = submission

    def take_line(self, line: str) -> list[str] | None:
        """Return None: spark-submit's output has no line of this provider."""
        del line
        return None

    def answer(self) -> tuple[str, dict[str, Any]] | None:
        return self._folder.read(self._submission)

    def explain_absence(self) -> str:
        if self._folder.has_begun(self._submission):
            return "The driver started, but was ended before it could report."
        return (
            f"The driver did not start, or could not write to {self._folder.path} (result_path): then it changes "
            "nothing. Its log on the cluster says why."
        )
