"""Meanings of the errors of storages that are read without a JVM, for any client.

Clients use different classes for the same error, or one class for all errors. An error is recognized by the code and
status that the store answered, which all clients pass on. Without them, it is recognized by class and text.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

from airflow_delta_provider.domain.checks import faults, requests
from airflow_delta_provider.domain.checks.rule import Prose, Rule
from airflow_delta_provider.domain.engine.secret_settings import masked_text
from airflow_delta_provider.domain.errors import BrokenMetadataError, Shortage, UnreadMetadataError, shortage
from airflow_delta_provider.domain.report.report import Finding, Verdict
from airflow_delta_provider.jobs.process import MissingPackageError


class MissingFileError(Exception):
    """There is no such file or directory in the storage of a table.

    Not a ``FileNotFoundError``, which means that the job itself lacks a local file and says nothing about the table.

    :param path: path or URI that was requested
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class StorageError(Exception):
    """A storage operation that failed.

    :param what: problem in one line that names the place
    :param remedy: sentence about the action to take
    :param retryable: True if another try may help
    """

    def __init__(self, what: str, remedy: str, *, retryable: bool = False) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy
        self.retryable = retryable


class NoStorageError(StorageError):
    """No storage is available for the scheme of a location."""


class FileChangedError(StorageError):
    """Another process changed a file that was to be written only if it had not changed."""


class UnconditionalError(StorageError):
    """The store has no conditional writes."""


class UnreachableError(StorageError):
    """The store did not answer."""


class SilentStoreError(StorageError):
    """The store is not asked again, because it has never answered."""

    def __init__(self, place: str) -> None:
        super().__init__(f"{place}: {_UNREACHABLE.what}", _UNREACHABLE.remedy, retryable=True)


class OutOfMemoryError(StorageError):
    """This machine has too little memory.

    :param what: the file, or the work, that does not fit
    """

    def __init__(self, what: str) -> None:
        remedy = "Give the job more memory, or let it run when less memory is in use."
        super().__init__(f"Not enough memory: {masked_text(what)} does not fit", remedy, retryable=True)


def may_pass(error: Exception) -> bool:
    """Return True if another try within this operation may help."""
    lasting = (SilentStoreError, OutOfMemoryError)
    return isinstance(error, StorageError) and error.retryable and not isinstance(error, lasting)


@dataclass(frozen=True)
class _Meaning:
    what: str
    remedy: str
    _: KW_ONLY
    retryable: bool = False


_NO_CREDENTIALS = _Meaning(
    "there are no credentials for this storage",
    "Set those of the cloud in the environment, such as AWS_ACCESS_KEY_ID, GOOGLE_APPLICATION_CREDENTIALS or "
    "AZURE_STORAGE_ACCOUNT; profiles in ~/.aws need boto3.",
)
_BAD_CREDENTIALS = _Meaning(
    "the storage does not accept the credentials", "Use others; these may have expired, or belong to another account."
)
_DENIED = _Meaning(
    "no permission",
    "Allow the credentials to list and read everything below the location, and to write state and reports.",
)
_WRONG_REGION = _Meaning(
    "the bucket is in another region than the requested one",
    "Set AWS_REGION to the region of the bucket, which the header x-amz-bucket-region of any answer names: "
    "curl --head https://BUCKET.s3.amazonaws.com.",
)
_NO_BUCKET = _Meaning("there is no such bucket or container", "Check its name, the account and the endpoint.")
_CLOCK = _Meaning("the clock of this machine differs from that of the storage", "Set the clock.", retryable=True)
_BUSY = _Meaning("the storage is busy or failed", "Try again later.", retryable=True)
_UNREACHABLE = _Meaning(
    "the storage cannot be reached", "Check the endpoint, the region and the network.", retryable=True
)
_SLOW = _Meaning("the storage did not answer in time", "If it persists, check endpoint and network.", retryable=True)
_NAME = _Meaning(
    "a name below this place cannot be read by this client", "Rename the object, or use Spark, which can read it."
)
_OPTION = _Meaning("the storage does not know an option", "Check the names of the storage options.")
_CHANGED = _Meaning("somebody else wrote the file meanwhile", "Run the job again.")
_UNCONDITIONAL = _Meaning("the storage does not support conditional writes", "Write without a condition.")
_OTHER = _Meaning("the storage failed", "If it persists, check the location, network and credentials.", retryable=True)

_ERRORS = {
    _CHANGED: FileChangedError,
    _UNCONDITIONAL: UnconditionalError,
    _UNREACHABLE: UnreachableError,
    _SLOW: UnreachableError,
}

#: Error codes of S3, Azure and Google.
_CODES: Mapping[str, _Meaning] = {
    **dict.fromkeys(
        ("AccessDenied", "AllAccessDisabled", "AuthorizationFailure", "AuthorizationPermissionMismatch", "Forbidden"),
        _DENIED,
    ),
    **dict.fromkeys(
        (
            "AuthenticationFailed",
            "AuthenticationRequired",
            "ExpiredToken",
            "InvalidAccessKeyId",
            "InvalidAuthenticationInfo",
            "InvalidSecurity",
            "InvalidToken",
            "NoAuthenticationInformation",
            "SignatureDoesNotMatch",
            "TokenRefreshRequired",
        ),
        _BAD_CREDENTIALS,
    ),
    **dict.fromkeys(
        ("AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "PermanentRedirect"), _WRONG_REGION
    ),
    **dict.fromkeys(("ContainerNotFound", "FilesystemNotFound", "InvalidBucketName", "NoSuchBucket"), _NO_BUCKET),
    "RequestTimeTooSkewed": _CLOCK,
    **dict.fromkeys(
        ("BlobAlreadyExists", "ConditionNotMet", "ConditionalRequestConflict", "PreconditionFailed"), _CHANGED
    ),
    "NotImplemented": _UNCONDITIONAL,
    **dict.fromkeys(("InternalError", "RequestTimeout", "ServerBusy", "ServiceUnavailable", "SlowDown"), _BUSY),
}
_STATUSES: Mapping[int, _Meaning] = {
    301: _WRONG_REGION,
    401: _BAD_CREDENTIALS,
    403: _DENIED,
    412: _CHANGED,
    501: _UNCONDITIONAL,
    **dict.fromkeys((408, 429, 500, 502, 503, 504), _BUSY),
}
#: Exception classes of clients, by name.
_CLASSES: Mapping[str, _Meaning] = {
    **dict.fromkeys(
        ("CredentialRetrievalError", "CredentialUnavailableError", "DefaultCredentialsError", "NoCredentialsError"),
        _NO_CREDENTIALS,
    ),
    **dict.fromkeys(("PartialCredentialsError", "TokenRetrievalError", "UnauthenticatedError"), _BAD_CREDENTIALS),
    **dict.fromkeys(("PermissionDeniedError", "PermissionError"), _DENIED),
    **dict.fromkeys(("ConnectTimeoutError", "ReadTimeoutError", "TimeoutError", "ServerTimeoutError"), _SLOW),
    **dict.fromkeys(("ClientConnectorError", "ConnectionRefusedError", "EndpointConnectionError"), _UNREACHABLE),
    **dict.fromkeys(("AlreadyExistsError", "FileExistsError", "PreconditionError"), _CHANGED),
    "NotSupportedError": _UNCONDITIONAL,
    "InvalidPathError": _NAME,
    "UnknownConfigurationKeyError": _OPTION,
}
#: Patterns for error texts without a known class or code, the most specific first.
_TEXTS: tuple[tuple[str, _Meaning], ...] = (
    # Without credentials, clients ask the machine's metadata service for them, which exists only in clouds.
    (
        r"(?i)/latest/(api/token|meta-data)|token request|169\.254\.169\.254|metadata\.google\.internal"
        r"|unable to locate credentials|account must be specified|could not find .*credentials",
        _NO_CREDENTIALS,
    ),
    (
        r"(?i)Invalid Access Key|Access Key Id you provided|signature we calculated|token has expired"
        r"|service account file|decode credentials",
        _BAD_CREDENTIALS,
    ),
    (r"pre-conditions? you specified", _CHANGED),
    (r"incorrectly configured region", _WRONG_REGION),
    (r"Could not parse path|illegal character", _NAME),
    (r"kind: Timeout|TimedOut|timed out", _SLOW),
    (r"kind: Connect|dns error|Could not connect|Cannot connect", _UNREACHABLE),
)
_CODE = r"<Code>(\w+)</Code>|\((\w+)\) when calling"
_STATUS = r"status code: (\d{3})"
_REGION = r"<Region>([\w-]+)</Region>|expecting '([\w-]+)'"
_REGION_HEADER = "x-amz-bucket-region"
#: Beginning of one client's messages, and beginning of their details.
_PREFIX = r"^Generic \w+ error: |Error performing (\w+ request: )?(Error performing )?|[A-Z]+ \S+ in [\d.]+\w+ - "
_DETAILS = "\n\nDebug source"
_LONGEST = 300


def storage_error(place: str, error: Exception) -> Exception:
    """Return the meaning of a client's error at ``place``; the error itself if it is not an error of the storage.

    :return: MissingFileError if there is no such file, otherwise a StorageError
    """
    if isinstance(error, (StorageError, MissingFileError)):
        return error
    if isinstance(error, MemoryError):
        return OutOfMemoryError(place)
    causes = list(_causes(error))
    code = answered(error)
    meaning = _CODES.get(code)
    if meaning is None and any(isinstance(cause, FileNotFoundError) for cause in causes):
        return MissingFileError(place)
    meaning = meaning or next(filter(None, map(_of_text_or_class, causes)), None)
    if meaning is None and not _is_of_storage(error):
        return error
    reason = f" ({shown})" if (shown := code or _short(error)) else ""
    meaning = meaning or _OTHER
    kind = _ERRORS.get(meaning, StorageError)
    region = next(filter(None, map(_region, causes)), "") if meaning is _WRONG_REGION else ""
    remedy = f"Set AWS_REGION to {region}." if region else meaning.remedy
    return kind(f"{masked_text(place)}: {meaning.what}{reason}", remedy, retryable=meaning.retryable)


@contextmanager
def reported(path: str) -> Iterator[None]:
    """Raise the meaning of a client's error in its place; see :func:`storage_error`."""
    try:
        yield
    except Exception as error:
        meaning = storage_error(path, error)
        if meaning is error:
            raise
        raise meaning from error


def _of_text_or_class(error: BaseException) -> _Meaning | None:
    """Return the meaning of a single exception. If credentials are missing, its class would be misleading."""
    text = str(error)
    by_text = next((meaning for pattern, meaning in _TEXTS if re.search(pattern, text)), None)
    if by_text in (_NO_CREDENTIALS, _BAD_CREDENTIALS, _CHANGED):
        return by_text
    status = _status(error)
    by_status = _WRONG_REGION if status == 400 and _headers(error).get(_REGION_HEADER) else _STATUSES.get(status)
    named = (_CLASSES[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in _CLASSES)
    return by_status or next(named, None) or by_text


def answered(error: BaseException) -> str:
    """Return the code that a store answered, such as ``AccessDenied``; an empty string if there is none."""
    return next(filter(None, map(_code, _causes(error))), "")


def _is_of_storage(error: Exception) -> bool:
    modules = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    return isinstance(error, OSError) or bool(modules & {"obstore", "botocore", "aiohttp", "azure", "gcsfs", "google"})


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    for _ in range(10):
        if seen is None:
            return
        yield seen
        seen = seen.__cause__ or seen.__context__


def _code(error: BaseException) -> str:
    response = getattr(error, "response", None)
    if isinstance(response, Mapping) and isinstance(response.get("Error"), Mapping):
        code = str(response["Error"].get("Code") or "")
        return "" if code.isdecimal() else code
    if isinstance(of_azure := getattr(error, "error_code", None), str):
        return of_azure
    match = re.search(_CODE, str(error))
    return (match[1] or match[2] or "") if match else ""


def _status(error: BaseException) -> int:
    for name in ("status", "status_code", "code"):
        if isinstance(status := getattr(error, name, None), int):
            return status
    if isinstance(status := _metadata(error).get("HTTPStatusCode"), int):
        return status
    match = re.search(_STATUS, str(error))
    return int(match[1]) if match else 0


def _region(error: BaseException) -> str:
    """Return the region of the bucket if the store sent it. Answers without a body have it only in their headers."""
    match = re.search(_REGION, str(error))
    return (match[1] or match[2]) if match else str(_headers(error).get(_REGION_HEADER) or "")


def _headers(error: BaseException) -> Mapping[str, Any]:
    headers = _metadata(error).get("HTTPHeaders")
    return headers if isinstance(headers, Mapping) else {}


def _metadata(error: BaseException) -> Mapping[str, Any]:
    """Return Amazon's metadata of an answer."""
    response = getattr(error, "response", None)
    metadata = response.get("ResponseMetadata") if isinstance(response, Mapping) else None
    return metadata if isinstance(metadata, Mapping) else {}


def _short(error: BaseException) -> str:
    """Return the essential part of a message, in one line, without secrets."""
    text = str(error).split(_DETAILS)[0]
    while (shorter := re.sub(_PREFIX, "", text, count=1)) != text:
        text = shorter
    return masked_text(" ".join(text.split()))[:_LONGEST]


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
    """True if a disk of this machine failed to read one file: others may be readable."""

    @property
    def message(self) -> str:
        """The problem, and the remedy if it differs from the rule's."""
        return " ".join(filter(None, (self.evidence, self.remedy)))

    def finding(self, done: str = "") -> Finding:
        """Return the finding, without secrets. ``done`` is a sentence about the work done before the error."""
        text = " ".join(filter(None, (masked_text(self.evidence), done)))
        return self.rule.found("{error}", remedy=self.remedy, error=Prose(text), condition=self.condition)

    def not_saved(self) -> Finding:
        """Return the finding for a state that could not be saved."""
        text = f"The state for the next run could not be saved. {self.evidence}"
        return replace(self, rule=faults.NOT_SAVED, evidence=text, remedy=None).finding()


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
        missing = f"A file of the table is missing: {message}. It was cleaned up, or the table dropped, while this ran."
        remedy = "Run the job again; if the error persists, restore the file."
        return EngineError(requests.TABLE_MOVED, Verdict.REFUSED, "", missing, remedy, retryable=True)
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
    reason = f" ({message})" if message else ""
    out = f"The machine ran out of {what.what}{reason}. That says nothing about the table."
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
    text = f"Unexpected {type(error).__name__}: {message}."
    return EngineError(faults.UNEXPECTED, Verdict.FAULT, condition, text)
