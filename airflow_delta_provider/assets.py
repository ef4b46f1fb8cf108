"""Tables as Airflow's assets."""

from __future__ import annotations

import re
from urllib.parse import quote

from airflow.providers.common.compat.sdk import Asset

from airflow_delta_provider.domain.request.table_name import TableName, TableNameError, normal_location

#: Scheme of tables that a catalog names; Airflow leaves what begins with ``x-`` as it is.
CATALOG_SCHEME = "x-delta"
#: What would end the path of a URI, or be mistaken for an escape.
_RESERVED = re.compile("[%?#]")


def table_asset(table: str) -> Asset:
    """Return the asset of a table, the same wherever it is named: by an operator of this provider, or by a DAG that is
    scheduled on it.

    Of a location it is the URI: ``s3a://lake/orders/`` and ``s3://lake/orders`` are ``s3://lake/orders``, an
    absolute path is a ``file://`` URI, and ``%``, ``?`` and ``#`` are percent-encoded. Of a catalog name it is
    ``x-delta://main/sales/orders``, in the name's own spelling.

    :param table: a path, a URI or a catalog name, as the operators take it
    :raises TableNameError: for what names no table, and for a relative path, which is another table on another worker
    """
    name = TableName.parse(table)
    if name.identifier is not None:
        return Asset(uri=f"{CATALOG_SCHEME}://{'/'.join(quote(part, safe='') for part in name.identifier)}")
    location = normal_location(name.location or "")
    if location.startswith("file://") and not location.startswith("file:///"):
        raise TableNameError(f"{table!r} is a relative path. Give an absolute one, or a URI.")
    return Asset(uri=_RESERVED.sub(lambda found: quote(found[0]), location))
