"""Airflow's assets for tables."""

from __future__ import annotations

import re
from urllib.parse import quote

from airflow.providers.common.compat.sdk import (
    Asset,
)

from airflow_delta_provider.domain.table_name import TableName, TableNameError, normal_location

#: Scheme of tables with a catalog name; Airflow does not change schemes that begin with ``x-``.
CATALOG_SCHEME = "x-delta"


#: Characters that would end the path of a URI, or be mistaken for an escape.
_RESERVED = re.compile("[%?#]")


def table_asset(table: str) -> Asset:
    """Return the asset of a table.

    It is the same for operators of this provider and for DAGs scheduled on the table. For a location, it is the URI:
    ``s3a://lake/orders/`` and ``s3://lake/orders`` become ``s3://lake/orders``, an absolute path becomes a ``file://``
    URI, and ``%``, ``?`` and ``#`` are percent-encoded. For a catalog name, it is ``x-delta://main/sales/orders``, in
    the spelling of the name.

    :param table: a path, a URI or a catalog name, in the form that operators accept
    :raises TableNameError: if it is not a table name, or is a relative path, which is another table on another worker
    """
    name = TableName.parse(table)
    if name.identifier is not None:
        return Asset(uri=f"{CATALOG_SCHEME}://{'/'.join(quote(part, safe='') for part in name.identifier)}")
    location = normal_location(name.location or "")
    if location.startswith("file://") and not location.startswith("file:///"):
        raise TableNameError(f"{table!r} is a relative path. Give an absolute one, or a URI.")
    return Asset(uri=_RESERVED.sub(lambda found: quote(found[0]), location))
