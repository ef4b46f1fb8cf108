"""Errors that this provider raises in Airflow.

An error that a retry cannot fix derives from ``AirflowFailException``. Lost races and infrastructure faults do not, so
that Airflow retries them.
"""

from __future__ import annotations

from collections.abc import Sequence

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_delta_provider.domain.rendering.text import render_log
from airflow_delta_provider.domain.report.report import JobReport, ReportPlace
from airflow_delta_provider.domain.text import shown_lines


class DeltaProviderError(AirflowException):
    """Root of this provider's errors.

    Its message is safe to show, even if it quotes a table or a storage.
    """

    def __str__(self) -> str:
        return shown_lines(super().__str__())


class DeltaRequestError(DeltaProviderError, AirflowFailException, ValueError):
    """The arguments of a task are wrong for any table; the message has the remedy."""


class DeltaNotApprovedError(DeltaProviderError, AirflowFailException):
    """Nobody approved the plan of a migration, or somebody approved another one; nothing was applied."""


class DeltaConnectionError(DeltaProviderError, AirflowFailException):
    """The Spark connection cannot be used; the message names the setting to change."""


class DeltaJobError(DeltaProviderError):
    """The job ended without a report; retried, since the state of the tables is unknown."""


class DeltaResultError(DeltaJobError):
    """The folder for a remote driver's results cannot be used; retried, since the store may be available again."""


class DeltaReportError(DeltaProviderError):
    """A report has problems.

    :param report: the whole report, for callbacks
    :param place: place of the kept report
    """

    headline = "The job reported failures"

    def __init__(self, report: JobReport, place: ReportPlace | None = None) -> None:
        super().__init__(f"{self.headline}.\n{render_log(report, place)}")
        self.report = report
        self.place = place


class DeltaViolationError(DeltaReportError, AirflowFailException):
    """A table breaks a rule, or the request was refused."""

    headline = "A table was refused or breaks a rule"


class DeltaUndeterminedError(DeltaReportError, AirflowFailException):
    """Something could not be decided, and the task is set to fail then, or left a table unchanged because of it."""

    headline = "A table could not be judged"


class DeltaFaultError(DeltaReportError, AirflowFailException):
    """The provider or the platform failed in a way that another try does not fix."""

    headline = "The job failed on a table"


class DeltaRetryableError(DeltaReportError):
    """Every failure may be fixed by another try: lost races, infrastructure faults."""

    headline = "The job failed on a table in a way that another try may fix"


class DeltaReportUnavailableError(DeltaProviderError):
    """XCom has only part of a report, and the whole report is missing or unreadable; retried, since it may appear
    later.
    """


class DeltaAlertError(DeltaProviderError):
    """An alert did not reach all recipients.

    :param errors: errors, one per notifier
    """

    def __init__(self, errors: Sequence[Exception]) -> None:
        causes = "; ".join(f"{type(error).__name__}: {error}" for error in errors)
        super().__init__(f"The alert did not reach everybody. {causes}")
        self.errors = tuple(errors)
