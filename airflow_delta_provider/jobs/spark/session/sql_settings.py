"""Settings of a session: read, and changed during a job if they affect the meaning of SQL."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress

from pyspark.sql import SparkSession


@contextmanager
def configured(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Apply ``settings`` within the block, and restore the previous values afterwards.

    If the session has ended meanwhile, errors of restoring are ignored, so that they do not hide the block's result.
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


#: Required values, so that statements have their standard meaning. All except the first are Spark's own defaults.
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
    # SET TBLPROPERTIES refuses properties that it would not set
    "spark.sql.legacy.notReserveProperties": "false",
    # SHOW TABLES names its columns as documented
    "spark.sql.legacy.keepCommandOutputSchema": "false",
    # grouping columns are part of the result
    "spark.sql.retainGroupColumns": "true",
    # unreadable files fail the statement instead of being left out silently
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
}


class SqlSettings:
    """Keeps :data:`SQL_SETTINGS` in a session as long as any thread needs them."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._lock = threading.Lock()
        self._holders = 0
        self._held = ExitStack()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Give SQL its standard meaning within the block. The last holder to leave restores each setting."""
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
        """Return only the settings that have another value now: a platform may forbid setting others."""
        return {key: value for key, value in SQL_SETTINGS.items() if self._value(key) not in (None, value)}

    def _value(self, key: str) -> str | None:
        """Return the value of a setting, including its default; None if this Spark does not have it."""
        try:
            text: str | None = self._spark.conf.get(key)
        except Exception:
            return None
        return text
