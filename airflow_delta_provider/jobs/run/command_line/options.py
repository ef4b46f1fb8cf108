"""Flags of the command line, made from the options that a kind of job declares."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from airflow_delta_provider.domain.request.option import Option
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.domain.request.value import Choice, Entries, Flag


def flags_of(options: type[Options]) -> Mapping[str, str]:
    """Return the flags by the names of options."""
    return {name: declared.flag or f"--{name.replace('_', '-')}" for name, declared in options.declared().items()}


def add_options(parser: argparse._ActionsContainer, options: type[Options]) -> None:
    """Add the flags of a kind."""
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


def read_options(parsed: argparse.Namespace, options: type[Options]) -> Options:
    """Return the options that were given.

    :raises RequestError: if they are wrong
    """
    given = {}
    for name, declared in options.declared().items():
        if name in parsed:
            value = getattr(parsed, name)
            given[name] = declared.value.from_items(name, value) if declared.value.repeatable else value
    return options(**given)


def _parsing(declared: Option) -> dict[str, Any]:
    """Return how argparse reads an option."""
    value = declared.value
    if isinstance(value, Flag):
        return {"action": "store_true"}
    if isinstance(value, Choice):
        return {"choices": value.words}
    read = _entries if isinstance(value, Entries) else _reading(value.from_text)
    return {"metavar": declared.metavar, "type": read, "action": "append" if value.repeatable else "store"}


def _reading(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def one(text: str) -> Any:
        try:
            return read(text)
        except RequestError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return one


def _entries(path: str) -> tuple[Any, ...]:
    """Read a file of entries; YAML where PyYAML is installed, JSON anywhere."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        try:
            entries = json.loads(text)
        except ValueError:
            import yaml

            entries = yaml.safe_load(text) or []
    except ImportError:
        raise argparse.ArgumentTypeError(f"{path} is not JSON; for YAML install PyYAML") from None
    except Exception as error:
        raise argparse.ArgumentTypeError(f"{path} cannot be read: {error}") from None
    return tuple(entries) if isinstance(entries, list) else (entries,)
