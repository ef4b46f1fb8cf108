"""A release of Spark with a release of Delta."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from airflow_delta_provider.domain.engine.spark_library import Version, coordinates_of, version_of


@dataclass(frozen=True)
class Pair:
    """What the tests run with.

    :param binaries: the folder of ``python`` and ``spark-submit`` of an environment that has this Spark
    """

    binaries: Path
    spark: str
    delta: str

    @property
    def coordinates(self) -> str:
        """Delta's Maven coordinates."""
        return coordinates_of(self.delta, self.spark)

    @property
    def line(self) -> Version:
        """The numbers by which Delta's release lines are told apart."""
        return version_of(self.delta)[:2]
