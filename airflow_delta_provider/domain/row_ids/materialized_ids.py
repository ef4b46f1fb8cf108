"""The row ids in a data file, as far as its footer shows them. PROTOCOL.md, Row IDs (Materialized Row IDs)."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_delta_provider.domain.formats.parquet.footer import Footer
from airflow_delta_provider.domain.formats.parquet.schema import LogicalKind, PhysicalType


class MaterializedTypeError(Exception):
    """The column does not contain 64-bit integers; the message gives its type."""


@dataclass(frozen=True, slots=True)
class FileIds:
    """The row ids of one data file, as far as its footer shows; rows under deletion vectors are included.

    :param rows: number of rows
    :param materialized: number of rows with a materialized id; None if the footer does not show it
    :param minimum: lower bound of the materialized ids; None if there are none or the footer does not show it
    :param maximum: upper bound of the materialized ids; None likewise
    """

    rows: int
    materialized: int | None = 0
    minimum: int | None = None
    maximum: int | None = None

    @property
    def most_materialized(self) -> int:
        """The maximum number of rows with a materialized id."""
        return self.rows if self.materialized is None else self.materialized

    @property
    def all_fresh(self) -> bool:
        """Return True if every row has its fresh id."""
        return self.materialized == 0

    @property
    def all_materialized(self) -> bool:
        """Return True if every row has a materialized id."""
        return self.materialized == self.rows


def file_ids(footer: Footer, column: str | None) -> FileIds:
    """Return the footer's information about the materialized column ``column``.

    :raises MaterializedTypeError: if the column has another type than 64-bit integer
    :raises FooterError: if the footer is damaged or does not let this be read
    """
    element = footer.leaf((column,)) if column else None
    if element is None:
        if column and any(found.name == column for found in footer.schema[1:]):
            raise MaterializedTypeError("it is not a plain column")
        return FileIds(footer.num_rows)
    logical = element.logical_type
    wide = logical is None or (logical.kind is LogicalKind.INTEGER and logical.signed and logical.bit_width == 64)
    if element.physical_type is not PhysicalType.INT64 or not wide:
        kind = logical.kind.value if logical else element.physical_type.name if element.physical_type else "group"
        raise MaterializedTypeError(f"its type is {kind.lower()}")
    chunks = footer.chunks((column,)) if column else ()
    counts = [None if chunk.null_count is None else chunk.num_values - chunk.null_count for chunk in chunks]
    known = [count for count in counts if count is not None]
    bounds = [(c.minimum, c.maximum) for c, count in zip(chunks, counts) if count != 0]
    lows = [low for low, _ in bounds if low is not None]
    highs = [high for _, high in bounds if high is not None]
    return FileIds(
        footer.num_rows,
        sum(known) if len(known) == len(counts) else None,
        min(lows) if lows and len(lows) == len(bounds) else None,
        max(highs) if highs and len(highs) == len(bounds) else None,
    )
