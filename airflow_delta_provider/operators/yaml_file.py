"""YAML files on the worker that hold what an argument would list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from airflow_delta_provider.exceptions import DeltaRequestError

_SUFFIXES = (".yaml", ".yml")


def names_file(value: Any) -> bool:
    """Whether an argument, as a DAG has it, names a file: its text ends like one, even with templates in it.

    Not to be asked of what a template rendered to: a value from elsewhere never makes a task read a file.
    """
    return isinstance(value, str) and value.endswith(_SUFFIXES)


def read_entries(argument: str, file: Path) -> Sequence[Any]:
    """
    Return the list in a YAML file, whose entries are texts or mappings.

    :raises DeltaRequestError: if there is none; it says where, and nothing of what the file holds
    """
    try:
        entries = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DeltaRequestError(f"{argument}: {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DeltaRequestError(f"{argument}: {file} is not a text in UTF-8") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise DeltaRequestError(f"{argument}: {file} is not YAML{where}") from None
    if entries is None:
        return ()
    if not isinstance(entries, list):
        raise DeltaRequestError(f"{argument}: {file} holds no list. Put one entry per line, each after '- '.")
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, (str, Mapping)):
            raise DeltaRequestError(f"{argument}: entry {number} of {file} is neither a text nor a mapping")
    return entries
