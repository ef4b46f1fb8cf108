"""Files on the worker that a DAG names in an argument: YAML files and the command line's configuration file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from airflow.providers.common.compat.sdk import Context

from airflow_delta_provider.access import Access
from airflow_delta_provider.domain.formats.yaml_text import YamlError, unmarked
from airflow_delta_provider.domain.request.config_file import Config, ConfigError, parse_config
from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.domain.request.value import Document
from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.local_file import read_text
from airflow_delta_provider.operators.arguments import is_literal


class DagFiles:
    """The files that an operator's arguments name, and whether a name contains a template.

    :param files: files by argument, as written in the DAG
    """

    def __init__(self, files: Mapping[str, Any]) -> None:
        self._bounded = {name: not is_literal(file) for name, file in files.items()}

    def path(self, operator: Any, argument: str, value: str, context: Context | None) -> Path:
        """Return the file that an argument names, relative to the DAG's file.

        :param context: context of the task; None while the DAG is parsed
        :raises DeltaRequestError: if the DAG itself names no file in this argument, or the file is outside the allowed
            folders
        """
        if argument not in self._bounded:
            raise DeltaRequestError(
                f"{argument} was rendered to {value!r}. A file is read only if the DAG itself names it: write the "
                "argument so that its own text ends in .yaml or .yml, or in / for a folder of specs."
            )
        return file_of(operator, argument, value, context, bounded=self._bounded[argument])


def file_of(operator: Any, argument: str, value: str, context: Context | None, *, bounded: bool) -> Path:
    """Return a file, relative to the DAG's file.

    :param bounded: True if the file must be in the DAG's folder or bundle, or in an allowed location
    :raises DeltaRequestError: if the file is outside the allowed folders
    """
    folder = Path(operator.dag.fileloc).parent if cast("Any", operator).has_dag() else Path()
    file = folder / value
    if context is not None:
        access = Access.of(context)
        bundle = getattr(getattr(context["ti"], "bundle_instance", None), "path", None) or folder
        if (bounded or access.allowed) and not access.allows_file(file, (folder, Path(bundle))):
            raise DeltaRequestError(
                f"{argument} is {value!r}, which lies neither with the DAGs nor in the allowed locations, links "
                "followed. Put the file below the folder of the DAG's file, or of its bundle."
            )
    return file


_SUFFIXES = (".yaml", ".yml")


def names_file(value: Any) -> bool:
    """Return True if an argument, as written in the DAG, names a file: it ends in a suffix of YAML files.

    Do not pass a rendered value: a value from elsewhere must never make a task read a file.
    """
    return isinstance(value, str) and value.endswith(_SUFFIXES)


def read_entries(argument: str, file: Path) -> Sequence[Any]:
    """Return the list in a YAML file, whose entries are strings or mappings.

    :raises DeltaRequestError: if there is none; the message names the place, and quotes nothing from the file
    """
    entries = unmarked(read_document(argument, file, Document()))
    if entries is None:
        return ()
    if not isinstance(entries, list):
        raise DeltaRequestError(f"{argument}: {file} holds no list. Put one entry per line, each after '- '.")
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, (str, Mapping)):
            raise DeltaRequestError(f"{argument}: entry {number} of {file} is neither a string nor a mapping")
    return entries


def read_document(argument: str, place: Path, document: Document) -> Any:
    """Return the content of a file, or of the files in a folder. YAML values carry their positions.

    :raises DeltaRequestError: if it cannot be read; the message names the place, and quotes nothing from the file
    """
    file = place
    try:
        files = sorted(place.iterdir()) if place.is_dir() else [place]
        texts = []
        for file in files:
            if file == place or document.takes_file(file.name):
                texts.append((str(file), read_text(file)))
        if not texts:
            raise DeltaRequestError(f"{argument}: {place} is a folder without files that are read here")
        return document.of_files(texts)
    except OSError as error:
        raise DeltaRequestError(f"{argument}: {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DeltaRequestError(f"{argument}: {file} is not UTF-8 text") from None
    except YamlError as error:
        where = f" in line {error.line}, column {error.column}" if error.line else f": {error}"
        raise DeltaRequestError(f"{argument}: {place} is not YAML{where}") from None
    except RequestError as error:
        raise DeltaRequestError(f"{argument}: {error}") from None


def read_config_file(file: Path) -> Config:
    """Return the configuration in a file, with absolute paths because tasks do not run in the file's folder.

    :raises DeltaRequestError: if it cannot be read, or has a setting that an operator does not support
    """
    folder = file.parent.absolute().as_posix()
    try:
        config = parse_config(read_text(file), str(file), folder).with_absolute_names(folder)
    except OSError as error:
        raise DeltaRequestError(f"config: {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DeltaRequestError(f"config: {file} is not UTF-8 text") from None
    except ConfigError as error:
        raise DeltaRequestError(f"config: {error}") from None
    if config.fail_on == "never":
        raise DeltaRequestError(f"config: {file} has fail_on = 'never'. Pass fail_on, and on_violation='warn'.")
    return config
