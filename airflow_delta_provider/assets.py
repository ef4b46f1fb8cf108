"""Airflow's assets for tables, and their datasets in OpenLineage."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from airflow.providers.common.compat.sdk import (
    Asset,
)

from airflow_delta_provider.domain.table_name import TableName, TableNameError, normal_location

if TYPE_CHECKING:
    from urllib.parse import SplitResult

#: Scheme of tables with a catalog name; Airflow does not change schemes that begin with ``x-``.
CATALOG_SCHEME = "x-delta"
#: Scheme of tables of Unity Catalog, as in Airflow's provider for Databricks.
_DATABRICKS = "databricks"

#: Characters that would end the path of a URI, or be mistaken for an escape.
_RESERVED = re.compile("[%?#]")


def table_asset(table: str, *, databricks_host: str | None = None) -> Asset:
    """Return the asset of a table.

    It is the same for operators of this provider and for DAGs scheduled on the table. For a location, it is the URI:
    ``s3a://lake/orders/`` and ``s3://lake/orders`` become ``s3://lake/orders``, an absolute path becomes a ``file://``
    URI, and ``%``, ``?`` and ``#`` are percent-encoded. For a catalog name, it is ``x-delta://main/sales/orders``, in
    the spelling of the name. With ``databricks_host``, a name of three parts is a table of Unity Catalog, and its asset
    that of Airflow's provider for Databricks: ``databricks://HOST/main/sales/orders``, in lower case.

    :param table: a path, a URI or a catalog name, in the form that operators accept
    :param databricks_host: workspace of Databricks, as a host name or URL; None if the catalog is another one
    :raises TableNameError: if it is not a table name, or is a relative path, which is another table on another worker
    """
    name = TableName.parse(table)
    if name.identifier is not None:
        parts = [quote(part, safe="") for part in name.identifier]
        if databricks_host and len(parts) == 3:
            host = (urlsplit(databricks_host).hostname or databricks_host).lower()
            return Asset(uri=f"{_DATABRICKS}://{host}/{'/'.join(parts).lower()}")
        return Asset(uri=f"{CATALOG_SCHEME}://{'/'.join(parts)}")
    location = normal_location(name.location or "")
    if location.startswith("file://") and not location.startswith("file:///"):
        raise TableNameError(f"{table!r} is a relative path. Give an absolute one, or a URI.")
    return Asset(uri=_RESERVED.sub(lambda found: quote(found[0]), location))


def sanitize_uri(uri: SplitResult) -> SplitResult:
    """Check the URI of a table with a catalog name, for Airflow.

    :raises ValueError: if it has no name, or an empty part
    """
    if not uri.netloc or "" in uri.path.split("/")[1:]:
        raise ValueError(f"URI format {CATALOG_SCHEME}:// must contain the parts of a table's name")
    return uri


def catalog_dataset(parts: tuple[str, ...]) -> tuple[str, str]:
    """Return the namespace and name in OpenLineage of a table with a catalog name."""
    return CATALOG_SCHEME, ".".join(parts)


def convert_asset_to_openlineage(asset: Asset, lineage_context: Any) -> Any:
    """Return the dataset of a table with a catalog name, for OpenLineage's provider."""
    del lineage_context
    from airflow.providers.common.compat.openlineage.facet import Dataset

    parsed = urlsplit(asset.uri)
    namespace, name = catalog_dataset(tuple(map(unquote, (parsed.netloc, *parsed.path.split("/")[1:]))))
    return Dataset(namespace=namespace, name=name)
