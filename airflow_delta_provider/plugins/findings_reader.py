"""Reads the open findings of the configured table, by the package ``deltalake``, in the API server."""

from __future__ import annotations

import logging
import re

from airflow_delta_provider.domain.report.findings_table import OPEN_FINDINGS, FindingsTableError, OpenFinding
from airflow_delta_provider.domain.report.report import ReportPlace
from airflow_delta_provider.domain.table_name import normal_location
from airflow_delta_provider.watch.delta_options import delta_options

log = logging.getLogger(__name__)

_CONNECTION = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([^/@]*)@")
_LOCAL = "file://"
#: Class of the errors of Rust, which is no Exception.
_PANIC = "PanicException"


class FindingsUnreadableError(Exception):
    """A table of findings that cannot be read. The message is safe to show; the log has the reason."""


def read_open_findings(place: str) -> list[OpenFinding]:
    """Return the open findings, the oldest first.

    :param place: path or URI of the table, which may have a connection id before ``@``
    :raises FindingsUnreadableError: if it cannot be read
    """
    try:
        from deltalake import DeltaTable, QueryBuilder
    except ImportError:
        raise FindingsUnreadableError(
            "The package deltalake is not installed in the API server. Install airflow-delta-provider[findings]."
        ) from None
    location = normal_location(ReportPlace(place).bare)
    connection = _CONNECTION.match(place)
    try:
        options = dict(delta_options(connection[1], location)) if connection else {}
        table = DeltaTable(location.removeprefix(_LOCAL), storage_options=options)
        found = QueryBuilder().register("findings", table).execute(OPEN_FINDINGS).read_all()
        columns = [found.column(index).to_pylist() for index in range(found.num_columns)]
        return [OpenFinding(*values) for values in zip(*columns)]
    except FindingsTableError as error:
        raise FindingsUnreadableError(f"{error}.") from error
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != _PANIC:
            raise
        log.exception("The table of findings %s could not be read", ReportPlace(place).bare)
        raise FindingsUnreadableError(
            "Check findings_table of [delta_provider]. It names a table of findings that the API server can read. The "
            "log of the API server has the error."
        ) from error
