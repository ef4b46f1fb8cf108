"""Flags of the command line, derived from the options of each kind of job."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from airflow_delta_provider.domain.formats.yaml_text import unmarked
from airflow_delta_provider.domain.request.option import Option
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.domain.request.table_name import is_relative
from airflow_delta_provider.domain.request.value import Choice, Document, Entries, Flag, Value


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
            value = getattr(parsed, name)
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
    if isinstance(value, Document):
        return partial(read_document, value)
    return _entries if isinstance(value, Entries) else _reading(value.from_text)


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
