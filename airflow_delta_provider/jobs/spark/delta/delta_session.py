"""A Spark session with Delta: its engine, its catalogs, its labels."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.engine.delta_library import DELTA_CATALOG, OLDEST_DELTA
from airflow_delta_provider.domain.engine.engine import Engine, version_of
from airflow_delta_provider.domain.engine.session_profile import SESSION_CATALOG
from airflow_delta_provider.domain.request.table_name import TableName
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession
from airflow_delta_provider.jobs.delta.log.table_log import TableLog
from airflow_delta_provider.jobs.spark.delta.checkpoint_files import SparkCheckpointFiles
from airflow_delta_provider.jobs.spark.session.catalogs import NotInCatalogError
from airflow_delta_provider.jobs.spark.session.sql_settings import configured
from airflow_delta_provider.jobs.spark.session.table_session import SparkTableSession
from airflow_delta_provider.jobs.tables.catalog_entry import SchemaListing
from airflow_delta_provider.jobs.tables.table_session import TableError

#: Name of the format in catalogs.
_PROVIDER = "delta"
_USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


class SparkDeltaSession(SparkTableSession, DeltaSession):
    """A Spark session that opens Delta tables, by location or by name."""

    def open_log(self, location: str) -> TableLog:
        """Return the log of the table at a location. Spark reads large checkpoints."""
        files = self.files_of(location)
        return TableLog(files, location, SparkCheckpointFiles(self.spark, files))

    @property
    def versions(self) -> Mapping[str, str | None]:
        return {**super().versions, "delta": self.delta_version}

    def tables_in(self, schema: tuple[str, ...]) -> SchemaListing:
        """Return a catalog's listing of a schema, with its Delta tables by name.

        :raises TableError: if there is no such schema
        """
        try:
            return SchemaListing.of(self.catalogs.entries(schema), _PROVIDER)
        except NotInCatalogError as error:
            raise TableError(
                requests.NO_SUCH_TABLE.found(
                    "There is no schema {schema} in the catalog.{hint}",
                    remedy="Check the name of the schema, and which catalogs the session has (conf).",
                    schema=".".join(schema),
                    hint=Prose(error.hint),
                )
            ) from None

    @cached_property
    def engine(self) -> Engine:
        """The engine of this session.

        :raises RuntimeError: if it has no Delta, or one that is too old; the message explains how to provide it
        """
        jvm: Any = self.spark._jvm
        try:
            delta = getattr(getattr(jvm.io.delta, "package$"), "MODULE$").VERSION()
            known = getattr(getattr(jvm.org.apache.spark.sql.delta, "TableFeature$"), "MODULE$")
            features = known.allSupportedFeaturesMap().keys().mkString(",")
        except TypeError:  # py4j finds no such class and takes the name for a package
            raise RuntimeError(
                "Delta Lake is not on Spark's classpath. Set delta_jars (on the command line --delta-jars) to "
                "'packages' or to a list of jars, or install the delta-spark jars of Spark "
                f"{self.spark.version} on the platform."
            ) from None
        if version_of(delta) < OLDEST_DELTA:
            oldest = ".".join(map(str, OLDEST_DELTA))
            raise RuntimeError(f"Delta {delta} is too old for this provider. Use Delta {oldest} or later.")
        return Engine(self.spark.version, delta, frozenset(features.split(",")))

    def require_delta(self) -> None:
        """Check that this session has Delta.

        :raises RuntimeError: see :attr:`engine`
        """
        assert self.engine

    @property
    def delta_version(self) -> str | None:
        """Version of Delta; None if the session has none. In that case, Spark's own catalog is restored.

        Sessions are configured for Delta, whose catalog would fail every query without its jars.
        """
        try:
            return self.engine.delta
        except RuntimeError:
            if self.spark.conf.get(SESSION_CATALOG, None) == DELTA_CATALOG:
                self.spark.conf.unset(SESSION_CATALOG)
            return None

    @contextmanager
    def labelled(self, labels: Mapping[str, Any]) -> Iterator[None]:
        """Write ``labels`` into the ``userMetadata`` of every commit made within the block.

        They are merged with the user's own metadata: keys of a JSON object are kept, and any other text is kept under
        ``user``.
        """
        merged = {**_as_object(self.spark.conf.get(_USER_METADATA, None)), **labels}
        # Spark also replaces ${env:…} and the like in values of settings. JSON allows $ to be escaped.
        text = json.dumps(merged, sort_keys=True).replace("$", r"\u0024")
        with configured(self.spark, {_USER_METADATA: text}):
            yield

    @property
    def user_metadata(self) -> str | None:
        """The ``userMetadata`` of a commit made now: the labels, and the user's own metadata."""
        text: str | None = self.spark.conf.get(_USER_METADATA, None)
        return text

    def locate(self, name: TableName) -> str:
        """Return a table's location in the catalog.

        :raises TableError: if it is not in the catalog, or is not a Delta table
        """
        try:
            entry = self.catalogs.entry(name)
        except NotInCatalogError as error:
            raise TableError(
                requests.NO_SUCH_TABLE.found(
                    "There is no table {table} in the catalog.{hint}",
                    table=name.text,
                    hint=Prose(error.hint + self._without_delta()),
                )
            ) from None
        if entry.provider != _PROVIDER or not entry.location:
            what = f"a {entry.noun}"
            raise TableError(
                requests.NOT_DELTA.found("{table} is {what}, not a Delta table.", table=name.text, what=what)
            )
        return self.storage.qualify(entry.location)

    def _without_delta(self) -> str:
        """Return a possible reason why a catalog lacks a table, for jobs that do not need Delta otherwise."""
        if self.delta_version is not None:
            return ""
        return " This Spark has no Delta Lake; if the catalog is Delta's, add its jars: delta_jars (--delta-jars)."


def _as_object(text: str | None) -> dict[str, Any]:
    if not text:
        return {}
    try:
        parsed = json.loads(text)
    except ValueError:
        parsed = text
    return parsed if isinstance(parsed, dict) else {"user": parsed}
