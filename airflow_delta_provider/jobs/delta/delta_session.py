"""A Spark session with Delta: its engine, its statements, its tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.delta.log_files import has_log
from airflow_delta_provider.domain.engine.delta_library import DELTA_CATALOG
from airflow_delta_provider.domain.engine.engine import Engine
from airflow_delta_provider.domain.engine.session_profile import SESSION_CATALOG
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.table_name import TableName
from airflow_delta_provider.jobs.delta.log.table_log import TableLog
from airflow_delta_provider.jobs.session.missing_file import MissingFileError
from airflow_delta_provider.jobs.session.spark_settings import configured
from airflow_delta_provider.jobs.tables.table_formats import DELTA, format_of
from airflow_delta_provider.jobs.tables.table_session import TableError, TableSession, parse_table_name

_USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
_NOT_FOUND = frozenset(
    {
        "TABLE_OR_VIEW_NOT_FOUND",
        "SCHEMA_NOT_FOUND",
        "CATALOG_NOT_FOUND",
        "REQUIRES_SINGLE_PART_NAMESPACE",
        "DELTA_TABLE_NOT_FOUND",
        "DELTA_MISSING_DELTA_TABLE",
    }
)


@dataclass(frozen=True)
class OpenTable:
    """A table that was found: its name, its location as a URI, its log, and the files of that when it was opened."""

    name: TableName
    location: str
    log: TableLog
    log_names: Sequence[str] = ()


class DeltaSession(TableSession):
    """A session that opens Delta tables."""

    @cached_property
    def engine(self) -> Engine:
        """What Delta this session has.

        :raises RuntimeError: if it has none, or too old a one; the message says how to provide it
        """
        jvm: Any = self.spark._jvm
        try:
            features = jvm.org.apache.spark.sql.delta.TableFeature.allSupportedFeaturesMap().keys().mkString(",")
            delta = getattr(getattr(jvm.io.delta, "package$"), "MODULE$").VERSION()
        except TypeError:  # py4j finds no such class and takes the name for a package
            raise RuntimeError(
                "Delta Lake is not on Spark's classpath. Set delta_jars (on the command line --delta-jars) to "
                "'packages' or to a list of jars, or install the delta-spark jars of Spark "
                f"{self.spark.version} on the platform."
            ) from None
        except Py4JError as error:
            if "does not exist in the JVM" not in str(error):
                raise
            raise RuntimeError(
                "This release of Delta Lake is too old to say which table features it knows. Use Delta 3.3 or later."
            ) from None
        return Engine(self.spark.version, delta, frozenset(features.split(",")))

    @property
    def delta_version(self) -> str | None:
        """Version of Delta, None where the session has none: then Spark's own catalog is in force again.

        Sessions are made for Delta, whose catalog would fail every query where its jars are not there.
        """
        try:
            return self.engine.delta
        except RuntimeError:
            if self.spark.conf.get(SESSION_CATALOG, None) == DELTA_CATALOG:
                self.spark.conf.unset(SESSION_CATALOG)
            return None

    def open_table(self, text: str) -> OpenTable:
        """Find a table by its name.

        :raises TableError: if there is none, or it is not a Delta table
        """
        name = parse_table_name(text)
        if name.location is None:
            location = self._locate(name)
        else:
            location = self.storage.qualify(name.location)
            name = replace(name, location=location)  # SQL takes absolute paths only
        self.check_reach(name, location)
        log = TableLog(self.spark, self.storage, location)
        try:
            names = log.list_names()
        except MissingFileError:
            names = []
        if not has_log(names):
            raise TableError(self._why_not_delta(text, location)) from None
        return OpenTable(name, location, log, names)

    @contextmanager
    def labelled(self, labels: Mapping[str, Any]) -> Iterator[None]:
        """Write ``labels`` into the ``userMetadata`` of every commit made meanwhile.

        Joined with the user's own: keys of a JSON object stay, any other text stays under ``user``.
        """
        merged = {**_as_object(self.spark.conf.get(_USER_METADATA, None)), **labels}
        # Spark replaces ${env:…} and the like in values of settings, too. In JSON, $ may be written in another way.
        text = json.dumps(merged, sort_keys=True).replace("$", r"\u0024")
        with configured(self.spark, {_USER_METADATA: text}):
            yield

    @property
    def user_metadata(self) -> str | None:
        """What goes into the ``userMetadata`` of a commit that is made now: the labels, and what the user put there."""
        text: str | None = self.spark.conf.get(_USER_METADATA, None)
        return text

    def _locate(self, name: TableName) -> str:
        try:
            properties = self.details(name)
        except AnalysisException as error:
            if (error.getCondition() or "").split(".")[0] in _NOT_FOUND:
                raise TableError(
                    requests.NO_SUCH_TABLE.found(
                        "There is no table {table} in the catalog.{hint}",
                        table=name.text,
                        hint=Prose(self._without_delta()),
                    )
                ) from None
            raise
        provider = (properties.get("Provider") or "").lower()
        if provider != "delta" or not properties.get("Location"):
            what = f"a {provider} table" if provider else f"a {(properties.get('Type') or 'view').lower()}"
            raise TableError(
                requests.NOT_DELTA.found("{table} is {what}, not a Delta table.", table=name.text, what=what)
            )
        return self.storage.qualify(properties["Location"])

    def _without_delta(self) -> str:
        """Return what may be why a catalog has no table, where jobs run that need Delta for nothing else."""
        if self.delta_version is not None:
            return ""
        return " This Spark has no Delta Lake; if the catalog is Delta's, add its jars (delta_jars)."

    def _why_not_delta(self, text: str, location: str) -> Finding:
        try:
            found = format_of(self.storage, location)
        except MissingFileError:
            return requests.NO_SUCH_TABLE.found(
                "There is no table at {table}: no such directory.", remedy="Check the path.", table=text
            )
        if found not in (None, DELTA):
            return requests.NOT_DELTA.found(
                "{table} is an {format} table, not a Delta table.",
                remedy="Name a Delta table: this job takes no other.",
                table=text,
                format=found,
            )
        return requests.NOT_DELTA.found(
            "{table} is not a Delta table: there is no commit in {location}/_delta_log.",
            remedy="Name the table's own directory, not one above or below it.",
            table=text,
            location=location,
        )


def _as_object(text: str | None) -> dict[str, Any]:
    if not text:
        return {}
    try:
        parsed = json.loads(text)
    except ValueError:
        parsed = text
    return parsed if isinstance(parsed, dict) else {"user": parsed}
