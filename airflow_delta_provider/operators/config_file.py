"""The configuration file of the command line, read on the worker."""

from __future__ import annotations

from pathlib import Path

from airflow_delta_provider.domain.request.config_file import Config, ConfigError, parse_config
from airflow_delta_provider.exceptions import DeltaRequestError


def read_config_file(file: Path) -> Config:
    """
    Return what a file says; its relative paths are absolute, as tasks do not run in its folder.

    :raises DeltaRequestError: if it cannot be read, or says what an operator cannot do
    """
    folder = file.parent.absolute().as_posix()
    try:
        config = parse_config(file.read_text(encoding="utf-8"), str(file), folder).with_absolute_names(folder)
    except OSError as error:
        raise DeltaRequestError(f"config: {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DeltaRequestError(f"config: {file} is not a text in UTF-8") from None
    except ConfigError as error:
        raise DeltaRequestError(f"config: {error}") from None
    if config.fail_on == "never":
        raise DeltaRequestError(f"config: {file} has fail_on = 'never'. Pass fail_on, and on_violation='warn'.")
    return config
