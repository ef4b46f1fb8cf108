"""Selection of Delta's jars for a job, and of the spark-submit arguments for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_delta_provider.configuration import worker_cache
from airflow_delta_provider.domain.engine.delta_library import (
    PACKAGES,
    PROVIDED,
    UnknownSparkError,
    default_delta_jars,
    delta_coordinates,
    split_jars,
)
from airflow_delta_provider.domain.engine.spark_master import is_local
from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.hooks.delta_jars import DeltaJars, Resolve
from airflow_delta_provider.hooks.spark_installation import spark_version, spark_version_of_jars


@dataclass(frozen=True)
class JobJars:
    """Jars for a job.

    :param coordinates: Maven coordinates that spark-submit resolves
    """

    paths: tuple[str, ...] = ()
    coordinates: tuple[str, ...] = ()


def job_jars(
    delta_jars: str | Sequence[str] | None,
    master: str,
    binary: str,
    environment: Mapping[str, str],
    resolve: Resolve,
    *,
    may_need_delta: bool,
    cache: Path | None = None,
) -> JobJars:
    """Return the jars of Delta for a job.

    :param delta_jars: source of the jars, as allowed by :func:`check_delta_jars`
    :param resolve: function that resolves coordinates on this machine, if that is needed
    :param may_need_delta: True if the job may need Delta; otherwise only jars that are already resolved are used
    :param cache: folder for resolved jars; by default the worker's cache
    :raises UnknownSparkError: if no release of Delta is known for this Spark
    """
    source = delta_jars or default_delta_jars(master)
    kept = DeltaJars(cache or worker_cache())
    if source == PROVIDED:
        return JobJars()
    if delta_jars is None and not may_need_delta:
        return JobJars(tuple(_resolved_before(kept, binary, environment)))
    if source == PACKAGES:
        source = delta_coordinates(spark_version(binary, environment))
    paths, coordinates = split_jars(source)
    if not is_local(master):
        return JobJars(paths, coordinates)
    resolved = kept.paths(",".join(coordinates), resolve) if coordinates else []
    return JobJars((*paths, *resolved))


def _resolved_before(kept: DeltaJars, binary: str, environment: Mapping[str, str]) -> list[str]:
    """Return Delta's jars if an earlier job needed them: jobs with the same class path share an archive of classes."""
    try:
        coordinates = delta_coordinates(spark_version_of_jars(binary, environment) or "")
    except UnknownSparkError:
        return []
    return kept.resolved(coordinates) or []


def check_delta_jars(delta_jars: Any) -> None:
    """Refuse a value that is neither a known source nor a list of jars.

    :raises DeltaRequestError: with the possible values
    """
    if delta_jars is None or delta_jars in (PACKAGES, PROVIDED):
        return
    if isinstance(delta_jars, str):
        paths, coordinates = split_jars(delta_jars)
        if (paths or coordinates) and all(path.endswith(".jar") for path in paths):
            return
    elif delta_jars and all(isinstance(jar, (str, Path)) for jar in delta_jars):
        return
    raise DeltaRequestError(
        f"delta_jars is {delta_jars!r}; it must be '{PACKAGES}', '{PROVIDED}' or a list of paths of jars or of "
        "Maven coordinates such as 'io.delta:delta-spark_4.1_2.13:4.3.1'."
    )
