"""The locations that a deployment lets its tasks reach: ``[delta_provider] allowed_locations``.

An entry with a slash is a location: it allows itself and everything below it. Any other entry is the beginning of a
catalog name, part by part: ``main.sales`` allows ``main.sales.orders``. Without entries, everything is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.table_name import TableName, normal_location

#: Folders with a Delta table's own metadata. Nothing else may be written there.
_METADATA = frozenset({"_delta_log", "_change_data", "_delta_index"})
_OWN_FOLDER = "Choose a folder of its own."


def allowed_roots(allowed: Iterable[str]) -> tuple[str, ...]:
    """Return the entries that are locations."""
    parsed = ((entry, TableName.parse(entry)) for entry in allowed)
    return tuple(name.location or entry for entry, name in parsed if name.location is not None)


def is_below(location: str, root: str) -> bool:
    """Return True if a location is ``root`` or below it, in any spelling; False if it contains ``..``."""
    if ".." in location.split("/"):
        return False
    path, above = normal_location(location), normal_location(root)
    return path == above or path.startswith(above.rstrip("/") + "/")


def check_location(table: TableName, allowed: Sequence[str]) -> Finding | None:
    """Return a refusal if ``table``, as named, is outside every entry of ``allowed``."""
    if not allowed or any(_allows(entry, table) for entry in allowed):
        return None
    return _outside("{table!r} lies outside", allowed, table=table.text)


def check_found(table: TableName, location: str, roots: Sequence[str]) -> Finding | None:
    """Return a refusal if ``table`` leads to a location outside every root.

    :param location: location after resolving the catalog, links and mounts
    :param roots: locations that are allowed; empty if locations are not restricted
    """
    if not roots or any(is_below(location, root) for root in roots):
        return None
    what = "{table!r} resolves to {location}, where a catalog entry, a symbolic link or a mount leads, outside"
    return _outside(what, roots, table=table.text, location=location)


def check_path(argument: str, path: str, allowed: Sequence[str]) -> Finding | None:
    """Return a refusal if a file or folder in an argument must not be used.

    A folder with a table's own metadata is always refused. Any other must be below an entry that is a location.

    :param argument: name of the argument, for the message
    """
    metadata = _METADATA & {segment.casefold() for segment in path.split("/")}
    if metadata:
        return requests.LOCATION_NOT_ALLOWED.found(
            "{argument} is {place!r}, inside {folder} of a table. Only the table itself may be written there.",
            remedy=_OWN_FOLDER,
            argument=argument,
            place=path,
            folder=min(metadata),
        )
    if not allowed or any(is_below(path, root) for root in allowed_roots(allowed)):
        return None
    return _outside("{argument} is {place!r}, outside", allowed, argument=argument, place=path)


def check_outside_data(argument: str, path: str, table: str) -> Finding | None:
    """Return a refusal if ``path`` is among the data of the table at the location ``table``.

    VACUUM and clean-ups of orphan files delete files there that the table does not know. They spare names that begin
    with ``_`` or ``.``, so a folder like ``_audit`` is allowed.
    """
    if not is_below(path, table):
        return None
    rest = normal_location(path)[len(normal_location(table)) :].lstrip("/")
    if rest.startswith(("_", ".")):
        return None
    return requests.LOCATION_NOT_ALLOWED.found(
        "{argument} is {place!r}, in the folder of the table {table}. There, VACUUM deletes files that are not part "
        "of the table.",
        remedy=_OWN_FOLDER,
        argument=argument,
        place=path,
        table=table,
    )


def _outside(what: str, allowed: Sequence[str], **facts: Any) -> Finding:
    return requests.LOCATION_NOT_ALLOWED.found(f"{what} the allowed locations ({{allowed}}).", allowed=allowed, **facts)


def _allows(entry: str, table: TableName) -> bool:
    prefix = TableName.parse(entry)
    if prefix.location is not None:
        return table.location is not None and is_below(table.location, prefix.location)
    wanted = tuple(part.casefold() for part in prefix.identifier or ())
    parts = tuple(part.casefold() for part in table.identifier or ())
    return parts[: len(wanted)] == wanted
