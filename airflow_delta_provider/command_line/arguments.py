"""Options of a kind of job as flags, and the files that a report or a spec is written to."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from airflow_delta_provider.command_line.terminal import Terminal
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.formats.yaml_documents import unmarked
from airflow_delta_provider.domain.report.report import JobReport
from airflow_delta_provider.domain.request.option import Choice, Document, Entries, Flag, Option, Value
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.domain.table_name import is_relative
from airflow_delta_provider.jobs.storage.errors import MissingFileError
from airflow_delta_provider.jobs.storage.local_storage import replace_file
from airflow_delta_provider.jobs.storage.storage import Storage


def flags_of(options: type[Options]) -> Mapping[str, str]:
    """Return the flags, keyed by option name."""
    return {name: declared.flag or f"--{name.replace('_', '-')}" for name, declared in options.declared().items()}


def add_options(parser: argparse._ActionsContainer, options: type[Options]) -> None:
    """Add the flags of a kind of job."""
    flags = flags_of(options)
    for name, declared in options.declared().items():
        repeated = "; may be repeated" if declared.value.repeatable else ""
        parser.add_argument(
            flags[name],
            dest=name,
            required=declared.one is not None,
            default=argparse.SUPPRESS,
            help=declared.help.replace("%", "%%") + repeated,
            **_parsing(declared),
        )


def add_allowed_locations(parser: argparse._ActionsContainer) -> None:
    """Add the flag for the locations that a job may access."""
    parser.add_argument(
        "--allowed-location",
        dest="allowed_locations",
        action="append",
        default=[],
        metavar="LOCATION",
        type=_location,
        help="folder or URI below which tables, and all files that they name, must lie; may be repeated (default: a "
        "table's files must lie on the same store, on this machine within a table)",
    )


def _location(text: str) -> str:
    return os.path.abspath(text) if is_relative(text) else text


def read_options(parsed: argparse.Namespace, options: type[Options]) -> Options:
    """Return the options given on the command line.

    :raises RequestError: if an option is invalid
    """
    given = {}
    for name, declared in options.declared().items():
        if name in parsed:
            value = content_of(getattr(parsed, name))
            given[name] = declared.value.from_items(name, value) if declared.value.repeatable else value
    return options(**given)


def _parsing(declared: Option) -> dict[str, Any]:
    """Return argparse's keyword arguments for an option."""
    value = declared.value
    if isinstance(value, Flag):
        return {"action": "store_true"}
    if isinstance(value, Choice):
        return {"choices": value.words}
    read = _reader(value)
    return {"metavar": declared.metavar, "type": read, "action": "append" if value.repeatable else "store"}


def _reading(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def one(text: str) -> Any:
        try:
            return read(text)
        except RequestError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return one


def _reader(value: Value) -> Callable[[str], Any]:
    if isinstance(value, Entries):
        return lambda path: GivenFile(path, _entries(path))
    if isinstance(value, Document) and not value.repeatable:
        return lambda path: GivenFile(path, read_document(value, path))
    return partial(read_document, value) if isinstance(value, Document) else _reading(value.from_text)


class GivenFile(NamedTuple):
    """The content of a file that a flag names; an error in it names the file."""

    path: str
    content: Any


def content_of(value: Any) -> Any:
    """Return the content of a file, and any other value as it is."""
    return value.content if isinstance(value, GivenFile) else value


def _entries(path: str) -> tuple[Any, ...]:
    entries = unmarked(read_document(Document(), path)) or []
    return tuple(entries) if isinstance(entries, list) else (entries,)


def read_document(value: Document, path: str) -> Any:
    """Read a file, or the files of a folder. YAML needs PyYAML; JSON always works.

    :raises ArgumentTypeError: if it cannot be read
    """
    place = Path(path)
    file = place
    try:
        files = sorted(place.iterdir()) if place.is_dir() else [place]
        taken = [file for file in files if file == place or value.takes_file(file.name)]
        if not taken:
            lacks = " without files *.yaml, *.yml or *.json" if value.takes_file("a.yaml") else "; name a file"
            raise argparse.ArgumentTypeError(f"{path} is a folder{lacks}")
        texts = []
        for file in taken:
            texts.append((str(file), file.read_text(encoding="utf-8")))
        return value.of_files(texts)
    except (argparse.ArgumentTypeError, RequestError) as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{file} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise argparse.ArgumentTypeError(f"{file} is not UTF-8 text") from None
    except Exception as error:
        raise argparse.ArgumentTypeError(f"{path} cannot be read: {error}") from None


_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


class ReportFile:
    """The file of one report.

    :param place: a local path, or a URI that is written through the storage
    :raises RequestError: if no file can be written to the path
    """

    def __init__(self, place: str) -> None:
        self.place = place
        self._path = None if _URI.match(place) else _followed(Path(place))
        if self._path is not None:
            _check(self._path)

    def check(self, storage: Storage) -> None:
        """Check that the storage of a URI is known, before the job starts.

        :raises Exception: error of the storage, if it is not known
        """
        if self._path is None:
            storage.qualify(self.place)

    def write(self, text: Iterable[str], storage: Storage) -> None:
        """Write the whole report or nothing. A device or pipe, such as ``/dev/stdout``, is written directly.

        :param text: parts of the report, in order
        """
        parts = (part.encode(errors="backslashreplace") for part in text)
        if self._path is None:
            storage.write(storage.qualify(self.place), b"".join(parts))
            return
        if _is_special(self._path):
            with open(self._path, "wb") as file:
                file.writelines(parts)
            return
        replace_file(str(self._path), parts)


def _is_special(path: Path) -> bool:
    """Return True if the path is a device, pipe or socket, which a regular file must not replace."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _followed(path: Path) -> Path:
    """Return the target of a link, so that the target is replaced and not the link."""
    return path if _is_special(path) or not path.is_symlink() else path.resolve()


def _check(path: Path) -> None:
    if _is_special(path):
        return
    folder = path.parent
    if not folder.is_dir():
        raise RequestError("there is no directory {folder}. Make it, or name another.", folder=folder)
    if path.is_dir():
        raise RequestError("that is a directory. Name a file in it.")
    if not os.access(folder, os.W_OK):
        raise RequestError("{folder} is not writable. Change its permissions, or name another.", folder=folder)


class SpecFile:
    """The file for the specs that a request generates, or standard output.

    :param place: path or URI of the file; None for standard output
    :raises RequestError: if no file can be written there
    """

    def __init__(self, place: str | None, *, overwrite: bool) -> None:
        self.place = place
        self._overwrite = overwrite
        try:
            self._file = None if place is None else ReportFile(place)
        except RequestError as error:
            raise RequestError("{out}: {error}", error=str(error)) from None

    @classmethod
    def of(cls, options: Options) -> SpecFile | None:
        """Return the place for the specs of a request; None if it generates none."""
        if not options.writes_specs:
            return None
        return cls(getattr(options, "out", None), overwrite=getattr(options, "force", False))

    def check(self, storage: Storage) -> None:
        """Check that no existing file would be overwritten without ``--force``.

        :raises RequestError: if a file would be overwritten
        :raises Exception: error of the storage, if it cannot be reached
        """
        if self._file is None or self.place is None:
            return
        self._file.check(storage)
        if self._overwrite:
            return
        try:
            storage.read(storage.qualify(self.place))
        except (FileNotFoundError, MissingFileError):
            return
        raise RequestError("{out}: {place} exists. Give {force} to overwrite it.", place=self.place)

    def write(self, report: JobReport, storage: Storage, terminal: Terminal) -> bool:
        """Write the specs of the tables that have one. Without specs, no file is written.

        Return True if that was possible.

        :raises Exception: error of the storage, if the file cannot be written
        """
        text, number = _specs(report, as_json=(self.place or "").endswith(".json"))
        if self._file is None:
            return terminal.result([text])
        if number:
            self._file.write([text], storage)
        terminal.note(f"{number} {'spec' if number == 1 else 'specs'} written.")
        return True


def _specs(report: JobReport, *, as_json: bool) -> tuple[str, int]:
    """Return the text of a file with the specs of a report, empty without any, and their number."""
    from airflow_delta_provider.domain.spec.writing import SpecEntry, file_text  # late: few commands write specs

    tables = [
        SpecEntry(table.spec, table.version, known.get("table_id") or "", known.get("left_out", ()))
        for table, known in ((table, table.evidence or {}) for table in report.tables)
        if table.spec is not None
    ]
    return (file_text(tables, as_json=as_json) if tables else ""), len(tables)
