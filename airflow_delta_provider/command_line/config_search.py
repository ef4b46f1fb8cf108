"""Search for the configuration file."""

from __future__ import annotations

from pathlib import Path

from airflow_delta_provider.domain.request.config_file import (
    NAME,
    PYPROJECT,
    Config,
    ConfigError,
    is_configured,
    parse_config,
)


def find_config(start: Path) -> Path | None:
    """Return the nearest configuration file in a folder or above it.

    A ``pyproject.toml`` counts if it has the table.

    :raises ConfigError: if a ``pyproject.toml`` on the way cannot be read
    """
    for folder in (start, *start.parents):
        if (folder / NAME).is_file():
            return folder / NAME
        pyproject = folder / PYPROJECT
        if pyproject.is_file() and is_configured(_text(pyproject), str(pyproject)):
            return pyproject
    return None


def read_config(path: Path) -> Config:
    """Return the configuration in a file.

    Relative file paths start at the file's folder; table names stay as they are written.

    :raises ConfigError: if it cannot be read or is invalid
    """
    folder = folder_of(path)
    return parse_config(_text(path), str(path), "" if folder == Path.cwd() else folder.as_posix())


def folder_of(path: Path) -> Path:
    """Return the folder where relative names in a configuration file start."""
    return path.parent.resolve()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text.") from None
