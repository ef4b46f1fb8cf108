"""The statements that stories are made of, with the table as ``{t}`` and the story's directory as ``{d}``."""

from __future__ import annotations


def create(columns: str = "id bigint, name string, v int", clause: str = "", **properties: str) -> str:
    """CREATE TABLE; names of properties have ``__`` for ``.``."""
    listed = ", ".join(f"'{_name(key)}' = '{value}'" for key, value in properties.items())
    return f"CREATE TABLE {{t}} ({columns}) USING delta {clause}" + (f" TBLPROPERTIES ({listed})" if listed else "")


def set_properties(**properties: str) -> str:
    listed = ", ".join(f"'{_name(key)}' = '{value}'" for key, value in properties.items())
    return f"ALTER TABLE {{t}} SET TBLPROPERTIES ({listed})"


def unset_properties(*names: str) -> str:
    return f"ALTER TABLE {{t}} UNSET TBLPROPERTIES IF EXISTS ({', '.join(repr(_name(name)) for name in names)})"


def _name(key: str) -> str:
    return "delta." + key.replace("__", ".") if "." not in key else key


def insert(first: int, end: int, files: int = 1) -> str:
    return f"INSERT INTO {{t}} SELECT id, concat('n', id % 3), CAST(id AS int) FROM range({first}, {end}, 1, {files})"


def restore(version: int) -> str:
    return f"RESTORE TABLE {{t}} TO VERSION AS OF {version}"


def drop_feature(feature: str, truncate: bool = False) -> str:
    return f"ALTER TABLE {{t}} DROP FEATURE {feature}{' TRUNCATE HISTORY' if truncate else ''}"


def of_source(statement: str) -> str:
    """A statement about the table ``source`` beside the one of the story."""
    return statement.replace("{t}", "delta.`{d}/source`")


UPDATE = "UPDATE {t} SET v = v + 100 WHERE id % 3 = 1"
DELETE = "DELETE FROM {t} WHERE id % 4 = 2"
MERGE = (
    "MERGE INTO {t} AS t USING (SELECT id FROM range(2, 30, 4, 1)) AS s ON t.id = s.id "
    "WHEN MATCHED AND t.id = 6 THEN DELETE WHEN MATCHED THEN UPDATE SET v = -1 "
    "WHEN NOT MATCHED THEN INSERT (id, name, v) VALUES (s.id, 'm', 0)"
)
OPTIMIZE = "OPTIMIZE {t}"
MAP = set_properties(columnMapping__mode="name")
UNMAP = set_properties(columnMapping__mode="none")
WIDEN = "ALTER TABLE {t} ALTER COLUMN v TYPE bigint"
ROWS = (insert(0, 12, 3), insert(12, 16))
CHANGES = (UPDATE, MERGE, DELETE)
ROW_TRACKING = {"enableRowTracking": "true"}
VECTORS = {"enableDeletionVectors": "true"}
