"""The meaning of an error for the table that it occurred on."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace

from airflow_delta_provider.domain.broken_metadata import BrokenMetadataError, UnreadMetadataError
from airflow_delta_provider.domain.checks import faults, requests
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.checks.rule import Rule
from airflow_delta_provider.domain.engine.secret_settings import masked_text
from airflow_delta_provider.domain.machine_errors import Shortage, shortage
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Verdict
from airflow_delta_provider.jobs.process.optional_packages import MissingPackageError
from airflow_delta_provider.jobs.storage.missing_file import MissingFileError
from airflow_delta_provider.jobs.storage.storage_errors import StorageError

#: Errors that a retry does not fix, by error number: problem and remedy.
LASTING: Mapping[int, tuple[str, str]] = {
    errno.ENOTDIR: ("There is a file where a directory must be.", "Choose another location, or move the file."),
    errno.EISDIR: ("There is a directory where a file must be.", "Choose another location, or move the directory."),
    errno.ENOTSUP: ("There is a pipe or a device where a file must be.", "Choose another location, or move it."),
    errno.EROFS: ("The file system is mounted read-only.", "Mount it writable, or choose another location."),
    errno.ENAMETOOLONG: ("A name in the path is longer than the file system allows.", "Choose a shorter one."),
    errno.ELOOP: ("Symbolic links in the path form a loop.", "Fix them."),
}
#: Error numbers of a disk that cannot read the blocks of a file.
_OF_DISK = frozenset({errno.EIO, errno.EBADMSG, errno.ESTALE})


@dataclass(frozen=True)
class EngineError:
    """An interpreted exception.

    :param condition: error class of Spark or Delta, without its subclass; empty if there is none
    :param evidence: description of the problem
    :param remedy: action to take, if it differs from the rule's remedy
    """

    rule: Rule
    verdict: Verdict
    condition: str
    evidence: str
    remedy: str | None = None
    _: KW_ONLY
    retryable: bool = False
    of_disk: bool = False
    """Whether a disk of this machine failed to give one file: others may be readable."""

    @property
    def message(self) -> str:
        """The problem, and the remedy if it differs from the rule's."""
        return " ".join(filter(None, (self.evidence, self.remedy)))

    def finding(self, done: str = "") -> Finding:
        """Return the finding, without secrets. ``done`` is a sentence about the work done before the error."""
        said = " ".join(filter(None, (masked_text(self.evidence), done)))
        return self.rule.found("{error}", remedy=self.remedy, error=Prose(said), condition=self.condition)

    def not_saved(self) -> Finding:
        """Return the finding for a state that could not be saved."""
        said = f"The state for the next run could not be saved. {self.evidence}"
        return replace(self, rule=faults.NOT_SAVED, evidence=said, remedy=None).finding()


class UnreadFileError(Exception):
    """One file of a table that cannot or must not be read. Its content is unknown; other files are unaffected.

    :param path: URI of the file
    :param meaning: reason why it was not read
    :param problem: reason as the end of a sentence that names the file; by default the evidence
    """

    def __init__(self, path: str, meaning: EngineError, problem: str | None = None) -> None:
        super().__init__(meaning.message)
        self.path = path
        self.meaning = meaning
        self.is_outside = meaning.rule is requests.LOCATION_NOT_ALLOWED
        self.problem = masked_text(problem or meaning.evidence.rstrip("."))


def understand(error: BaseException) -> EngineError | None:
    """Return the meaning of a Python error; None for an error of an engine or of a storage's library."""
    message = str(error).strip()
    if isinstance(error, UnreadFileError):
        return error.meaning
    if short := shortage(error):
        return short_of(short, message)
    if isinstance(error, UnreadMetadataError):
        return EngineError(requests.UNREAD_LOG, Verdict.REFUSED, "", f"{message}.")
    if isinstance(error, BrokenMetadataError):
        return EngineError(requests.BROKEN_LOG, Verdict.REFUSED, "", f"The log cannot be read as one table: {message}.")
    if isinstance(error, MissingFileError):
        gone = f"A file of the table is missing: {message}. It was cleaned up, or the table dropped, while this ran."
        remedy = "Run the job again; if the error persists, restore the file."
        return EngineError(requests.TABLE_MOVED, Verdict.REFUSED, "", gone, remedy, retryable=True)
    if isinstance(error, StorageError):
        return EngineError(faults.STORAGE, Verdict.FAULT, "", f"{error.what}.", error.remedy, retryable=error.retryable)
    if isinstance(error, MissingPackageError):
        remedy = f"Install {error.package} where the job runs, or use the engine spark."
        return EngineError(faults.ENGINE, Verdict.FAULT, "", f"{message}.", remedy)
    if isinstance(error, PermissionError):
        return denied(message)
    if isinstance(error, OSError) and (number := error.errno or 0) in LASTING:
        return lasting(message, number)
    # A missing file of a table is a MissingFileError, so a FileNotFoundError concerns the job itself.
    if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
        return replace(failed(message), of_disk=error.errno in _OF_DISK)
    if isinstance(error, UnicodeError):
        half = f"A string is not valid Unicode: {message}."
        return EngineError(requests.ENGINE_REFUSED, Verdict.REFUSED, "", half, "Pass it in UTF-8.")
    return None


def short_of(what: Shortage, message: str, condition: str = "") -> EngineError:
    """Return the error for a machine that ran out of something.

    It says nothing about the table, and another try may help.
    """
    said = f" ({message})" if message else ""
    out = f"The machine ran out of {what.what}{said}. That says nothing about the table."
    return EngineError(faults.STORAGE, Verdict.FAULT, condition, out, what.remedy, retryable=True)


def denied(message: str, condition: str = "") -> EngineError:
    """Return the error for a storage that denied access."""
    remedy = "Give the job's user or credentials access to the table."
    return EngineError(faults.STORAGE, Verdict.FAULT, condition, f"No permission: {message}.", remedy)


def lasting(message: str, number: int, condition: str = "") -> EngineError:
    """Return the error for a storage failure that is permanent.

    :param number: error number, one of :data:`LASTING`
    """
    what, remedy = LASTING[number]
    for_good = f"Storage failed, and a retry does not help: {message}. {what}"
    return EngineError(faults.STORAGE, Verdict.FAULT, condition, for_good, remedy)


def failed(message: str, condition: str = "") -> EngineError:
    """Return the error for a storage failure that may be temporary."""
    remedy = "If it persists, check the location, network and credentials."
    return EngineError(faults.STORAGE, Verdict.FAULT, condition, f"Storage failed: {message}.", remedy, retryable=True)


def unexpected(error: BaseException, message: str, condition: str = "") -> EngineError:
    """Return the error for an unforeseen failure."""
    said = f"Unexpected {type(error).__name__}: {message}."
    return EngineError(faults.UNEXPECTED, Verdict.FAULT, condition, said)
