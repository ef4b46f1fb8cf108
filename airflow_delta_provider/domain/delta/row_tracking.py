"""Row tracking in a table's state. PROTOCOL.md, Row Tracking."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from airflow_delta_provider.domain.delta.features.log import DOMAIN, ROW_TRACKING
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.formats.json_values import parse_json

HIGH_WATER_MARK = "rowIdHighWaterMark"
_USUAL_MARK = re.compile(
    rf'\{{"{HIGH_WATER_MARK}":(0|[1-9]\d{{0,17}})(?:,"domainName":"{re.escape(DOMAIN)}")?\}}', re.ASCII
).fullmatch
#: Tag of a ``commitInfo`` that tells whether a commit kept the ids of the rows that it moved.
PRESERVED_TAG = "delta.rowTracking.preserved"


class RowTracking(NamedTuple):
    """Row tracking of one state.

    :param supported: True if the protocol lists it
    :param enabled: True if the property is set, regardless of the protocol
    :param suspended: True if the property that suspends it is set
    :param row_id_column: column of data files with materialized row ids, or None
    :param commit_version_column: column of data files with materialized row commit versions, or None
    :param high_water_mark: highest assigned row id, or None if the log does not have it
    """

    supported: bool
    enabled: bool
    suspended: bool
    row_id_column: str | None
    commit_version_column: str | None
    high_water_mark: int | None

    def with_mark(self, high_water_mark: int | None) -> RowTracking:
        """Return a copy with another high water mark."""
        columns = self.row_id_column, self.commit_version_column
        return RowTracking(self.supported, self.enabled, self.suspended, *columns, high_water_mark)

    @property
    def assigns(self) -> bool:
        """Return True if writers must assign ids to the rows that they add."""
        return self.supported and not self.suspended

    @property
    def relied_upon(self) -> bool:
        """Return True if every row has ids that readers may rely on."""
        return self.supported and self.enabled


def row_tracking_of(protocol: Protocol, metadata: Metadata, domains: Mapping[str, str]) -> RowTracking:
    """Return the row tracking of a state.

    :param domains: configuration by domain
    """
    properties = metadata.properties
    return RowTracking(
        protocol.supports(ROW_TRACKING),
        properties.row_tracking,
        properties.row_tracking_suspended,
        properties.row_id_column or None,
        properties.row_commit_version_column or None,
        high_water_mark_of(domains.get(DOMAIN)),
    )


@lru_cache(maxsize=8)
def high_water_mark_of(configuration: str | None) -> int | None:
    """Return the high water mark in the domain's configuration, None if there is none."""
    if usual := _USUAL_MARK(configuration or ""):
        return int(usual[1])
    try:
        mark = parse_json(configuration or "null")[HIGH_WATER_MARK]
    except (ValueError, TypeError, KeyError):
        return None
    return mark if isinstance(mark, int) and not isinstance(mark, bool) else None
