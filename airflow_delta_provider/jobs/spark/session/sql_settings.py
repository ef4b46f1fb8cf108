"""Settings of a session: read, and set while a job runs where they change what SQL means."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress

from pyspark.sql import SparkSession


@contextmanager
def configured(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set ``settings`` for the block; afterwards each is what it was before, or not set.

    A session that ended meanwhile has no settings: that must not hide the result of the block.
    """
    own = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, before in own.items():
            with suppress(Exception):
                if before is None:
                    spark.conf.unset(key)
                else:
                    spark.conf.set(key, before)


#: What each of these has to be so that a statement means what it says. All but the first are Spark's own defaults.
SQL_SETTINGS: Mapping[str, str] = {
    # ${env:…}, ${spark.…}, ${hiveconf:…}: replaced before parsing, in names, paths and literals as well
    "spark.sql.variable.substitute": "false",
    # `name` in a SELECT is a name, not a regular expression
    "spark.sql.parser.quotedRegexColumnNames": "false",
    # a backslash in a literal escapes
    "spark.sql.parser.escapedStringLiterals": "false",
    # words such as end and rows may be names; "…" is a literal
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    # timestamp is the type with a time zone, as it is in a Delta schema
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    # SET TBLPROPERTIES refuses what it would not set
    "spark.sql.legacy.notReserveProperties": "false",
    # SHOW TABLES names its columns as documented
    "spark.sql.legacy.keepCommandOutputSchema": "false",
    # what rows are grouped by is among the result's columns
    "spark.sql.retainGroupColumns": "true",
    # what cannot be read fails the statement: it is not left out silently
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
}


class SqlSettings:
    """Holds :data:`SQL_SETTINGS` in a session for as long as anybody needs them, in any thread."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._lock = threading.Lock()
        self._holders = 0
        self._held = ExitStack()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let SQL mean what it says until then; when the last holder leaves, each setting is what it was before."""
        with self._lock:
            if not self._holders:
                self._held.enter_context(configured(self._spark, self._otherwise()))
            self._holders += 1
        try:
            yield
        finally:
            with self._lock:
                self._holders -= 1
                if not self._holders:
                    self._held.close()

    def _otherwise(self) -> dict[str, str]:
        """Return the settings that are not in force: a platform may let no others be set."""
        return {key: value for key, value in SQL_SETTINGS.items() if self._value(key) not in (None, value)}

    def _value(self, key: str) -> str | None:
        """Return what a setting is, by default too; None where this Spark does not have it."""
        try:
            text: str | None = self._spark.conf.get(key)
        except Exception:
            return None
        return text
