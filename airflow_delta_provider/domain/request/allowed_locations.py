"""Which tables a deployment lets its tasks reach: ``[delta_provider] allowed_locations``."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_delta_provider.domain.delta.table_name import TableName, normal_location
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.rules import requests


def check_location(table: TableName, allowed: Sequence[str]) -> Finding | None:
    """Return a refusal if ``table`` is outside every entry of ``allowed``.

    An entry with a slash is a location: it allows itself and what lies below it. Any other entry is
    the beginning of a catalog name, part by part: ``main.sales`` allows ``main.sales.orders``. No
    entry at all allows everything.
    """
    if not allowed or any(_allows(entry, table) for entry in allowed):
        return None
    return requests.LOCATION_NOT_ALLOWED.finding(
        f"{table.text!r} lies outside the allowed locations ({', '.join(allowed)}). Name a table below one of "
        "them, in full, or have an administrator extend [delta_provider] allowed_locations."
    )


def _allows(entry: str, table: TableName) -> bool:
    prefix = TableName.parse(entry)
    if prefix.location is not None:
        if table.location is None or ".." in table.location.split("/"):
            return False
        root, path = normal_location(prefix.location), normal_location(table.location)
        return path == root or path.startswith(root.rstrip("/") + "/")
    wanted = tuple(part.casefold() for part in prefix.identifier or ())
    parts = tuple(part.casefold() for part in table.identifier or ())
    return parts[: len(wanted)] == wanted
