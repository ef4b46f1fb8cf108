"""The fleet option: the engines that read and write tables."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from airflow_delta_provider.domain.delta.features.registry import FEATURES
from airflow_delta_provider.domain.engine.fleet import Fleet, TableFleet
from airflow_delta_provider.domain.engine.profiles.user_profile import FleetError
from airflow_delta_provider.domain.formats.yaml_text import key_mark_of, mark_of
from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.domain.request.table_name import TableName, normal_location
from airflow_delta_provider.domain.request.value import Document, as_json
from airflow_delta_provider.domain.suggestion import did_you_mean

_NAMES = tuple({name: None for feature in FEATURES.values() for name in (feature.name, *feature.aliases)})


class FleetFile(Document):
    """The content of a fleet file."""

    def checked(self, option: str, value: Any) -> Any:
        """Return the content as plain JSON."""
        if value is None:
            return None
        content = as_json(value)
        try:
            Fleet.parse(content, _NAMES)
        except FleetError as error:
            raise RequestError(
                "{option}: {place}{error}", option=option, place=_place(value, error), error=error
            ) from None
        return content


def check_engine_names(content: Mapping[str, Any] | None, option: str, names: Iterable[str]) -> None:
    """Check that engines are declared in a fleet file.

    :param option: name of the option that names them
    :raises RequestError: for the first one that is not declared
    """
    for name in names:
        if content is None:
            raise RequestError("{option} names {name!r}. Pass {fleet}, which declares it.", option=option, name=name)
        fleet = _parsed(json.dumps(content))
        if not fleet.has_engine(name):
            raise RequestError(
                "{option} names {name!r}, which is not an engine of {fleet}.{hint}",
                option=option,
                name=name,
                hint=did_you_mean(name, fleet.names),
            )


def fleet_of(content: Mapping[str, Any] | None, table: TableName, location: str) -> TableFleet:
    """Return the fleet of a table.

    :param content: content of a fleet file
    :param location: location of the table
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
    """Return a fleet, parsed once for all tables of a job."""
    return Fleet.parse(json.loads(text), _NAMES)


def _place(value: Any, error: FleetError) -> str:
    """Return the place of an error in the file; empty for values that are not from YAML."""
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
