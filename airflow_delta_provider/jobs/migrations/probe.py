"""Trying the ``deltalake`` package that is installed on a table: whether it opens it, and reads a row."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from airflow_delta_provider.domain.engine.probe import Probe
from airflow_delta_provider.domain.engine.secret_settings import masked_text

_ENGINE, _PACKAGE = "delta-rs", "deltalake"
#: What it says of tables that it does not support, whatever the release and the class of its error.
_REFUSED = re.compile(
    r"unsupported|not (?:yet )?supported|reader (?:version|feature)|minReaderVersion|readerFeatures", re.IGNORECASE
)
_MOST_TEXT = 300


def probe(location: str) -> Probe:
    """Read one row of a table with ``deltalake``; credentials are those of the environment.

    :param location: path or URI of the table
    """
    try:
        deltalake: Any = import_module(_PACKAGE)
        installed = version(_PACKAGE)
    except (ImportError, PackageNotFoundError):
        return Probe(engine=_ENGINE, version=None, reads=None, message=f"the package {_PACKAGE} is not installed")
    try:
        _read_row(deltalake, location)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of Rust is no Exception
        said = masked_text(" ".join(str(error).split()))[:_MOST_TEXT]
        refused = False if _REFUSED.search(said) else None
        return Probe(engine=_ENGINE, version=installed, reads=refused, message=said or type(error).__name__)
    return Probe(engine=_ENGINE, version=installed, reads=True)


def _read_row(deltalake: Any, location: str) -> None:
    table = deltalake.DeltaTable(location)
    builder = getattr(deltalake, "QueryBuilder", None)
    if builder is None:
        table.to_pyarrow_dataset().head(1)
        return
    rows = builder().register("t", table).execute("SELECT * FROM t LIMIT 1")
    if hasattr(rows, "read_all"):
        rows.read_all()
