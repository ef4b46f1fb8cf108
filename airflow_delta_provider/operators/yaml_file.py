"""YAML files on the worker that hold what an argument would list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from airflow_delta_provider.domain.formats.yaml_text import YamlError, unmarked
from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.domain.request.value import Document
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
    entries = unmarked(read_document(argument, file, Document()))
    if entries is None:
        return ()
    if not isinstance(entries, list):
        raise DeltaRequestError(f"{argument}: {file} holds no list. Put one entry per line, each after '- '.")
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, (str, Mapping)):
            raise DeltaRequestError(f"{argument}: entry {number} of {file} is neither a text nor a mapping")
    return entries


def read_document(argument: str, place: Path, document: Document) -> Any:
    """
    Return what a file holds, or the files of a folder; values of YAML know where each was written.

    :raises DeltaRequestError: if it cannot be read; it says where, and nothing of what the file holds
    """
    file = place
    try:
        files = sorted(place.iterdir()) if place.is_dir() else [place]
        texts = []
        for file in files:
            if file == place or document.takes_file(file.name):
                texts.append((str(file), file.read_text(encoding="utf-8")))
        if not texts:
            raise DeltaRequestError(f"{argument}: {place} is a folder without files that are read here")
        return document.of_files(texts)
    except OSError as error:
        raise DeltaRequestError(f"{argument}: {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DeltaRequestError(f"{argument}: {file} is not a text in UTF-8") from None
    except YamlError as error:
        where = f" in line {error.line}, column {error.column}" if error.line else f": {error}"
        raise DeltaRequestError(f"{argument}: {place} is not YAML{where}") from None
    except RequestError as error:
        raise DeltaRequestError(f"{argument}: {error}") from None
