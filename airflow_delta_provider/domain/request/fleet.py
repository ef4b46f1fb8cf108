"""The option that gives the fleet: which engines read and write which tables."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from typing import Any

from airflow_delta_provider.domain.delta.features.registry import FEATURES
from airflow_delta_provider.domain.engine.fleet import Fleet, FleetError, TableFleet
from airflow_delta_provider.domain.formats.yaml_text import Mark, key_mark_of, mark_of
from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.domain.request.table_name import TableName, normal_location
from airflow_delta_provider.domain.request.value import Document

_NAMES = tuple({name: None for feature in FEATURES.values() for name in (feature.name, *feature.aliases)})


class FleetFile(Document):
    """What a fleet file holds."""

    def checked(self, option: str, value: Any) -> Any:
        """Return the content as plain JSON."""
        if value is None:
            return None
        content = _plain(value)
        try:
            Fleet.parse(content, _NAMES)
        except FleetError as error:
            raise RequestError(
                "{option}: {place}{error}", option=option, place=_place(value, error), error=error
            ) from None
        return content


def fleet_of(content: Mapping[str, Any] | None, table: TableName, location: str) -> TableFleet:
    """Return the fleet of a table.

    :param content: of a fleet file
    :param location: where the table is
    """
    if content is None:
        return TableFleet()
    places = {table.text, table.text.rstrip("/"), normal_location(location)}

    def fits(pattern: str) -> bool:
        patterns = {pattern, normal_location(pattern)} if "/" in pattern else {pattern}
        return any(fnmatch.fnmatchcase(place, each) for place in places for each in patterns)

    return _parsed(json.dumps(content)).on(fits)


@lru_cache(maxsize=4)
def _parsed(text: str) -> Fleet:
    """Return a fleet: once for all tables of a job."""
    return Fleet.parse(json.loads(text), _NAMES)


def _plain(value: Any, mark: Mark | None = None, *, is_version: bool = False) -> Any:
    """Return a value of YAML as JSON has it: dates are texts, and so are versions, as they were written."""
    if isinstance(value, Mapping):
        return {
            str(key): _plain(item, mark_of(value, key), is_version=key in ("version", "versions"))
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_plain(item, mark_of(value, index), is_version=is_version) for index, item in enumerate(value)]
    if is_version and mark is not None and isinstance(value, (int, float)) and not isinstance(value, bool):
        return mark.text
    return value.isoformat() if isinstance(value, date) else value


def _place(value: Any, error: FleetError) -> str:
    """Return where an error is, in the file; empty for values that are not from YAML."""
    found = None
    for part in error.where:
        found = mark_of(value, part) or found
        try:
            value = value[part]
        except (LookupError, TypeError):
            break
    if error.key is not None:
        found = key_mark_of(value, error.key) or found
    return "" if found is None else f"line {found.line}, column {found.column}: "
