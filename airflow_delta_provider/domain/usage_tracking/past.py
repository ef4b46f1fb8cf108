"""What the history of a table's metadata says of column mapping and its usage tracking."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from airflow_delta_provider.domain.delta.column_mapping import MappingMode, mapping_mode
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.invariants.usage_tracking import PROPERTY


@dataclass(frozen=True)
class MappingPast:
    """A table's past.

    :param ever_mapped: whether a version is known that had column mapping
    :param ever_used: whether a version is known whose property said that columns were dropped or renamed
    :param why_incomplete: why there may be versions, or files, that nobody knows of; empty where there are none
    """

    ever_mapped: bool = False
    ever_used: bool = False
    why_incomplete: str = ""

    @classmethod
    def of(cls, versions: Iterable[Metadata], why_incomplete: str = "") -> MappingPast:
        """Look at the metadata of all versions that are known."""
        mapped = used = False
        for metadata in versions:
            mapped |= mapping_mode(metadata.configuration) is not MappingMode.NONE
            used |= metadata.configuration.get(PROPERTY, "").lower() == "true"
        return cls(mapped, used, why_incomplete)

    @property
    def never_mapped(self) -> bool:
        """Whether no version had column mapping, and that is known of all."""
        return not self.ever_mapped and not self.why_incomplete
