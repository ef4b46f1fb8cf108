"""Checkpoints with more files than the driver should hold, read in Spark's tasks.

The driver needs only few files of a checkpoint one by one: those that later commits name, those that another checkpoint
describes differently, and those that a rule may find anything about. Spark's tasks select them, by conditions that
every file without a fault fulfils, and count the others. The rules themselves run in the driver, over the selected
files, as in every audit: a condition that is too strict selects too many files, and changes no finding.

- Rules about single files: a file is counted only if its values are present and in their usual range.
- Rules about all files: tasks group files by path (duplicates) and sort them by their first row id (ranges that
  overlap). All files of a group, or next to each other, are selected if there is any doubt.
- Another checkpoint: both are grouped by file. A pair with equal values is counted.

If too many files are selected, or anything is unusual, :class:`AllFilesNeededError` makes the audit read everything in
the driver.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, partial
from operator import itemgetter
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.types import IntegralType, MapType, StringType, StructType

from airflow_delta_provider.domain.delta.checkpoint_comparison import MOST_PARSED
from airflow_delta_provider.domain.delta.commit import Action, parse_commit
from airflow_delta_provider.domain.delta.parsed_fields import PARSED_COUNT, PARTITION_VALUES, STATISTICS
from airflow_delta_provider.domain.delta.partial_files import AllFilesNeededError, UnlistedFiles
from airflow_delta_provider.domain.delta.snapshot import FILE_KINDS, CheckpointPart, batches_of
from airflow_delta_provider.domain.formats.budget import Budget
from airflow_delta_provider.jobs.delta.checkpoint_files import (
    MOST_PARSED_BYTES,
    MOST_TEXT,
    PARSED_FIELDS,
    Needs,
    ReducedCheckpoint,
    compared_fields,
)
from airflow_delta_provider.jobs.spark.hadoop_storage import literal
from airflow_delta_provider.jobs.spark.session import ship
from airflow_delta_provider.jobs.tables.table_storage import TableStorage

#: Maximum number of files that are selected without a commit that names them.
_MOST = 100_000
#: Number of files in a task that groups them.
_TOGETHER = 200_000
#: Number of rows whose columns other readers return one after another.
_ROWS = 8192
#: Types of the fields that are compared, by kind of action.
_TYPES: Mapping[str, Mapping[str, type]] = {
    "add": {
        "path": StringType,
        "size": IntegralType,
        "modificationTime": IntegralType,
        "baseRowId": IntegralType,
        "defaultRowCommitVersion": IntegralType,
        "clusteringProvider": StringType,
        "partitionValues": MapType,
        "tags": MapType,
        "deletionVector": StructType,
        "stats": StringType,
    },
    "remove": {"path": StringType, "deletionTimestamp": IntegralType, "deletionVector": StructType},
}
_VECTOR: Mapping[str, type] = {
    "storageType": StringType,
    "pathOrInlineDv": StringType,
    "offset": IntegralType,
    "sizeInBytes": IntegralType,
    "cardinality": IntegralType,
}
_NUM_RECORDS = (
    r"""CAST(nullif(regexp_extract(stats, '^\\s*\\{\\s*"numRecords"\\s*:\\s*(\\d{1,18})\\s*[,}]', 1), '') AS BIGINT)"""
)
_ODD = "path RLIKE '[%:]|^[./]|/[./]'"
#: Values of a deletion vector that are present and in their range.
_IS_VECTOR = (
    "vector.storageType IN ('u', 'p', 'i') AND vector.pathOrInlineDv IS NOT NULL AND vector.sizeInBytes >= 0 "
    "AND vector.cardinality >= 0 AND coalesce(vector.offset, 0) >= 0"
)
_IDENTITY = (
    "IF(vector IS NULL, '', concat_ws('@', vector.storageType, vector.pathOrInlineDv, CAST(vector.offset AS STRING)))"
)
#: Pairs of equal files in two checkpoints, and tombstones that expired before the second one.
_EQUAL = (
    "n0 = 1 AND n1 = 1 AND r0 = r1 AND IF(r0 = 1, at0 <=> at1, head0 <=> head1 AND "
    "(stat0 IS NULL OR stat1 IS NULL OR stat0 = stat1) AND NOT (undescribed1 AND described0))"
)
_EXPIRED = "n0 = 1 AND n1 = 0 AND r0 = 1 AND (at0 IS NULL OR at0 = 0 OR at0 <= {since})"

#: Expressions for the number of rows of a file in a checkpoint, by the field of ``add`` that contains it.
_COUNTS = {
    "stats": "CAST(get_json_object(add.stats, '$.numRecords') AS BIGINT)",
    "stats_parsed": "add.stats_parsed.numRecords",
}


#: Place of an action in a file: the order in which other readers return it.
_Place = tuple[int, int, int]


@dataclass(frozen=True)
class _Paths:
    """Some paths.

    :param frame: single column ``path``, sent to every task
    """

    known: frozenset[str]
    frame: DataFrame


@dataclass(frozen=True)
class _File:
    """A file of a checkpoint.

    :param uri: its location
    """

    name: str
    uri: str
    size: int
    is_sidecar: bool = False


class _Rows:
    """The rows of a checkpoint.

    :param names: names of its files in the log
    :raises AllFilesNeededError: if it has an unusual form
    """

    def __init__(self, spark: SparkSession, storage: TableStorage, directory: str, names: Sequence[str]) -> None:
        self._spark = spark
        self._files: list[_File] = []
        self._others: dict[str, list[tuple[_Place, Action]]] = {}
        for name in names:
            uri = storage.permitted(f"{directory}/{name}")
            self._files.append(_File(name, uri, storage.size(uri)))
            if name.endswith(".json"):
                actions = parse_commit(name, storage.read(uri))
                if any(action.get(kind) for action in actions for kind in FILE_KINDS):
                    raise AllFilesNeededError("a JSON file of the checkpoint has file actions")
                self._others[name] = [((0, 0, row), action) for row, action in enumerate(actions)]
        rows = self._read([file for file in self._files if file.name not in self._others])
        self._take_others(rows)
        paths = [str(action["sidecar"]["path"]) for action in self.head if action.get("sidecar")]
        if any("/" in path or "%" in path for path in paths) or len({*paths}) < len(paths):
            raise AllFilesNeededError("a path of a sidecar file is unusual")
        if paths:
            for path in paths:
                uri = storage.permitted(f"{directory}/_sidecars/{path}")
                self._files.append(_File(path, uri, storage.size(uri), is_sidecar=True))
            rows = self._read([file for file in self._files if not file.name.endswith(".json")])
            self._others = {name: found for name, found in self._others.items() if name.endswith(".json")}
            self._take_others(rows)
        if rows is None:
            raise AllFilesNeededError("the checkpoint has no Parquet file")
        self.rows = rows

    @property
    def head(self) -> list[Action]:
        """The actions that describe no file."""
        return [action for file in self._files for _, action in self._others.get(file.name, ())]

    @property
    def bytes(self) -> int:
        """Size of its files in bytes."""
        return sum(file.size for file in self._files)

    def _read(self, files: Sequence[_File]) -> DataFrame | None:
        if not files:
            return None
        rows = self._spark.read.option("mergeSchema", "true").parquet(*literal([file.uri for file in files]))
        return rows.selectExpr("*", "_metadata.file_name AS `_file`", "_metadata.row_index AS `_row`")

    def _take_others(self, rows: DataFrame | None) -> None:
        """Read the actions that describe no file."""
        if rows is None:
            return
        kinds = [field.name for field in rows.schema if not field.name.startswith("_")]
        others = [kind for kind in kinds if kind not in FILE_KINDS]
        if not all(isinstance(rows.schema[kind].dataType, StructType) for kind in kinds):
            raise AllFilesNeededError("a column is not a struct")
        there = " + ".join(f"IF(`{kind}` IS NULL, 0, 1)" for kind in kinds)
        is_other = " OR ".join(f"`{kind}` IS NOT NULL" for kind in others) or "false"
        texts = [f"to_json(`{kind}`) AS `{kind}`" for kind in others]
        found = rows.where(f"{is_other} OR {there} > 1").selectExpr("`_file`", "`_row`", f"{there} AS `_count`", *texts)
        for row in sorted(found.collect(), key=lambda row: (row["_file"], row["_row"])):
            if row["_count"] > 1:
                raise AllFilesNeededError("a row has several actions")
            kind = next(kind for kind in others if row[kind] is not None)
            action = {kind: json.loads(row[kind], parse_float=Decimal)}
            place = row["_row"] // _ROWS, kinds.index(kind), row["_row"]
            self._others.setdefault(row["_file"], []).append((place, action))

    def facts(self) -> DataFrame:
        """Return a row per file action, with the values that decide if it is needed.

        :raises AllFilesNeededError: if a column has an unusual type
        """
        found = [self._facts(kind) for kind in ("add", "remove") if kind in self.rows.columns]
        if not found:
            raise AllFilesNeededError("the checkpoint has no file action")
        return found[0] if len(found) == 1 else found[0].unionByName(found[1])

    def _facts(self, kind: str) -> DataFrame:
        struct = self.rows.schema[kind].dataType
        types = _TYPES[kind]
        _check_types(struct, types)
        if "deletionVector" in struct.names:
            _check_types(struct["deletionVector"].dataType, _VECTOR)

        def field(name: str, type_: str) -> str:
            there = name in types and name in struct.names
            return f"CAST({f'`{kind}`.`{name}`' if there else 'NULL'} AS {type_}) AS {name}"

        fields = [
            field("path", "STRING"),
            field("size", "BIGINT"),
            field("baseRowId", "BIGINT"),
            field("defaultRowCommitVersion", "BIGINT"),
            field("deletionTimestamp", "BIGINT"),
            field("stats", "STRING"),
        ]
        is_add = kind == "add"
        head = [name for name in types if name in struct.names and name not in ("path", "stats")]
        vector = f"`{kind}`.deletionVector" if "deletionVector" in struct.names else f"CAST(NULL AS {_vector_type()})"
        parsed, count = "false", "CAST(NULL AS BIGINT)"
        if is_add and STATISTICS in struct.names:
            names = getattr(struct[STATISTICS].dataType, "names", [])
            parsed = f"add.{STATISTICS} IS NOT NULL"
            if "numRecords" in names:
                if not isinstance(struct[STATISTICS].dataType["numRecords"].dataType, IntegralType):
                    raise AllFilesNeededError("the parsed number of rows is not an integer")
                count = f"add.{STATISTICS}.numRecords"
        if is_add and PARTITION_VALUES in struct.names and getattr(struct[PARTITION_VALUES].dataType, "names", []):
            parsed = f"{parsed} OR add.{PARTITION_VALUES} IS NOT NULL"
        values = "add.partitionValues IS NOT NULL" if is_add and "partitionValues" in struct.names else "true"
        described = ", ".join(f"'{name}', `{kind}`.`{name}`" for name in head)
        rows = self.rows.where(f"`{kind}` IS NOT NULL").selectExpr(
            "`_file` AS file",
            "`_row` AS row",
            f"{not is_add} AS removed",
            *fields,
            f"{vector} AS vector",
            f"CAST({count} AS BIGINT) AS parsed_count",
            f"coalesce({parsed}, false) AS is_parsed",
            f"{values} AS has_values",
            f"xxhash64(to_json(named_struct({described}))) AS head" if is_add and head else "0L AS head",
        )
        return rows.selectExpr(
            "file",
            "row",
            "removed",
            "coalesce(path, '') AS path",
            f"{_IDENTITY} AS vector_id",
            "size",
            "baseRowId AS base",
            "defaultRowCommitVersion AS version",
            f"coalesce(parsed_count, {_NUM_RECORDS}) AS rows",
            "vector.cardinality AS deleted",
            "deletionTimestamp AS at",
            "head",
            "IF(stats IS NULL OR stats = '', NULL, xxhash64(stats)) AS stat",
            "coalesce(stats NOT IN ('', '{}', 'null'), false) AS described",
            "coalesce(stats, '') = '' AND parsed_count IS NULL AS undescribed",
            "is_parsed",
            "coalesce(length(stats), 0) AS text",
            f"path IS NULL OR path = '' OR {_ODD} OR NOT removed AND (size IS NULL OR size < 0 OR NOT has_values) OR "
            f"vector IS NOT NULL AND NOT coalesce({_IS_VECTOR}, false) AS odd",
        )

    def selected(
        self, paths: _Paths, *, parsed: Set[tuple[str, int]] | None = None
    ) -> list[tuple[tuple[int, _Place], Action]]:
        """Return the file actions with some paths, each with the number of its file and its place, in their order.

        :param parsed: places whose parsed fields are kept, as file and row; None for none
        """
        numbers = {file.name: number for number, file in enumerate(self._files)}
        kinds = [field.name for field in self.rows.schema]
        found: list[tuple[tuple[int, _Place], Action]] = []
        for kind in FILE_KINDS & {*kinds}:
            fields = compared_fields(parsed=bool(parsed))[kind]
            text = action_as_json(kind, self.rows.schema[kind].dataType, fields, apart=True)
            rows = self.rows.where(f"`{kind}` IS NOT NULL").selectExpr(
                "`_file`", "`_row`", f"coalesce(`{kind}`.path, '') AS path", text
            )
            for row in rows.join(paths.frame, "path", "left_semi").collect():
                body = json.loads(row[kind], parse_float=Decimal)
                if parsed is not None and (row["_file"], row["_row"]) not in parsed:
                    body = {name: value for name, value in body.items() if name not in PARSED_FIELDS}
                place = row["_row"] // _ROWS, kinds.index(kind), row["_row"]
                found.append(((numbers[row["_file"]], place), {kind: body}))
        return sorted(found, key=itemgetter(0))

    def reduced(
        self, facts: DataFrame, paths: _Paths, *, parsed: Set[tuple[str, int]] | None = None
    ) -> ReducedCheckpoint:
        """Return the checkpoint with the files of some paths, and the numbers of the others."""
        selected = self.selected(paths, parsed=parsed)
        others = facts.join(paths.frame, "path", "left_anti").groupBy("file", "removed")
        totals = others.agg(sql.expr("count(1) AS number"), sql.expr("coalesce(sum(size), 0) AS size")).collect()
        counted: dict[str, dict[str, int]] = {file.name: {} for file in self._files}
        for row in totals:
            counted[row["file"]]["remove" if row["removed"] else "add"] = row["number"]
        parts = []
        for number, file in enumerate(self._files):
            placed = [(place, action) for (of, place), action in selected if of == number]
            actions = sorted([*self._others.get(file.name, ()), *placed], key=itemgetter(0))
            batches = list(batches_of(action for _, action in actions))
            parts.append(CheckpointPart(file.name, file.size, batches, file.is_sidecar, counted[file.name]))
        live = [row for row in totals if not row["removed"]]
        return ReducedCheckpoint(
            parts,
            paths.known,
            selected,
            UnlistedFiles(
                sum(row["number"] for row in live),
                sum(row["size"] for row in live),
                partial(_histogram, facts, paths.frame),
            ),
            UnlistedFiles(sum(row["number"] for row in totals if row["removed"])),
        )

    def first_parsed(self, facts: DataFrame, most: int, most_bytes: int) -> list[Any]:
        """Return the file, row and path of the first files with parsed fields, in files up to a size."""
        small = [file.name for file in self._files if file.size <= most_bytes]
        order = {file.name: number for number, file in enumerate(self._files)}
        if not small:
            return []
        found: list[Any] = []
        parsed = facts.where("is_parsed AND NOT removed")
        for name in sorted(small, key=order.__getitem__):
            rows = parsed.where(sql.col("file") == name).orderBy("row").limit(most - len(found))
            found += rows.select("file", "row", "path").collect()
            if len(found) >= most:
                break
        return found


def _check_types(struct: Any, types: Mapping[str, type]) -> None:
    if not isinstance(struct, StructType):
        raise AllFilesNeededError("a field of the checkpoint is not a struct")
    for name, type_ in types.items():
        if name in struct.names and not isinstance(struct[name].dataType, type_):
            raise AllFilesNeededError(f"the field {name} of the checkpoint has an unusual type")


def _vector_type() -> str:
    fields = (f"{name}: {'STRING' if type_ is StringType else 'BIGINT'}" for name, type_ in _VECTOR.items())
    return f"STRUCT<{', '.join(fields)}>"


def _histogram(
    facts: DataFrame, paths: DataFrame, bounds: Sequence[int], deleted: Sequence[int]
) -> Iterator[tuple[int, int, Sequence[int]]]:
    """Yield the counts of the files without these paths; see :class:`UnlistedFiles`."""

    def place(value: str, limits: Sequence[int]) -> str:
        return " + ".join(f"IF({value} >= {limit}L, 1, 0)" for limit in limits) or "0"

    others = facts.where("NOT removed").join(paths, "path", "left_anti")
    found = (
        others.selectExpr(
            f"{place('size', bounds)} AS size_bin",
            f"{place('coalesce(deleted, 0)', deleted)} AS deleted_bin",
            "size",
            "deleted",
        )
        .groupBy("size_bin", "deleted_bin")
        .agg(
            sql.expr("count(1) AS number"),
            sql.expr("sum(size) AS size"),
            sql.expr("count(deleted) AS vectors"),
            sql.expr("coalesce(sum(deleted), 0) AS deleted"),
        )
    )
    for row in found.collect():
        counts = row["number"], row["size"], row["vectors"], row["deleted"]
        yield row["size_bin"] - 1, row["deleted_bin"], counts


class SparkCheckpoint:
    """A checkpoint that Spark's tasks read; see ``LargeCheckpoint``.

    :param names: names of its files in the log
    :raises AllFilesNeededError: if it has an unusual form
    """

    def __init__(self, spark: SparkSession, storage: TableStorage, directory: str, names: Sequence[str]) -> None:
        self._spark = spark
        self._open = partial(_Rows, spark, storage, directory)
        self._rows = self._open(names)
        self._facts = self._rows.facts()

    @property
    def head(self) -> Sequence[Action]:
        return self._rows.head

    @cached_property
    def number(self) -> int:
        """Number of its file actions.

        :raises AllFilesNeededError: if its values are too large for its size
        """
        ((number, total, longest),) = self._facts.selectExpr(
            "count(1)", "coalesce(sum(text + length(path)), 0)", "coalesce(max(text), 0)"
        ).collect()
        if longest > MOST_TEXT or total > Budget(self._rows.bytes).left:
            raise AllFilesNeededError("values of the checkpoint are too large")
        return int(number)

    def reduced(self, needs: Needs) -> ReducedCheckpoint:
        facts = self._facts
        groups = max(1, self.number // _TOGETHER)
        named = self._paths(needs.paths)
        keys = facts.repartition(groups, "path", "vector_id").groupBy("path", "vector_id")
        selected = [
            keys.agg(sql.expr("count(1) AS number"), sql.expr("bool_or(odd) AS odd"))
            .where("odd OR number > 1")
            .select("path")
        ]
        if needs.tracked:
            selected += self._tracked(facts.where("NOT removed"), named, needs, groups)
        return self._rows.reduced(facts, self._limited(needs.paths, selected))

    def _tracked(self, live: DataFrame, named: DataFrame, needs: Needs, groups: int) -> Iterator[DataFrame]:
        """Yield the paths of live files that a rule about row ids may find anything about."""
        wrong = [f"version > {needs.version}", "base < 0", "base IS NOT NULL AND rows IS NULL"]
        if needs.relied_upon:
            wrong += ["base IS NULL", "version IS NULL"]
        if needs.mark is not None:
            wrong.append(f"base + coalesce(rows, 1) - 1 > {needs.mark}")
        yield live.where(" OR ".join(wrong)).select("path")
        yield live.repartition(groups, "path").groupBy("path").count().where("count > 1").select("path")
        assigning = live.where("base IS NOT NULL AND coalesce(rows, 1) > 0")
        last = sql.expr("base + coalesce(rows, 1)").desc()
        yield assigning.join(named, "path", "left_anti").orderBy(last).limit(1).select("path")
        ranges = ship(
            self._spark, [{"base": base, "rows": rows} for base, rows in needs.ranges], "base: bigint, rows: bigint"
        )
        each = assigning.selectExpr("path", "base", "base + coalesce(rows, 1) AS end").unionByName(
            ranges.selectExpr("CAST(NULL AS STRING) AS path", "base", "base + rows AS end")
        )
        yield (
            each.selectExpr(
                "path",
                "base < max(end) OVER (ORDER BY base, end ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) OR "
                "end > lead(base) OVER (ORDER BY base, end) AS overlaps",
            )
            .where("overlaps AND path IS NOT NULL")
            .select("path")
        )

    def compared(
        self, files: Sequence[str], paths: Set[str], retained_since: Callable[[Mapping[str, Any]], float]
    ) -> tuple[ReducedCheckpoint, Sequence[tuple[object, Action]]]:
        other = self._open(files)
        facts = other.facts()
        metadata = next((action["metaData"] for action in other.head if action.get("metaData")), None)
        since = retained_since((metadata or {}).get("configuration") or {})
        parsed = other.first_parsed(facts, MOST_PARSED, MOST_PARSED_BYTES)
        both = self._facts.withColumn("which", sql.lit(0)).unionByName(facts.withColumn("which", sql.lit(1)))
        groups = max(1, self.number * 2 // _TOGETHER)
        columns = [
            *(f"count_if(which = {n}) AS n{n}" for n in (0, 1)),
            *(f"count_if(which = {n} AND removed) AS r{n}" for n in (0, 1)),
            *(f"max(IF(which = {n}, {name}, NULL)) AS {name}{n}" for n in (0, 1) for name in ("head", "stat", "at")),
            "bool_or(which = 0 AND described) AS described0",
            "bool_or(which = 1 AND undescribed) AS undescribed1",
            "bool_or(which = 1 AND odd) AS odd1",
        ]
        pairs = both.repartition(groups, "path", "vector_id").groupBy("path", "vector_id")
        expired = "n0 = 1 AND n1 = 0 AND r0 = 1" if since == float("inf") else _EXPIRED.format(since=int(since))
        differing = pairs.agg(*map(sql.expr, columns)).where(f"odd1 OR NOT ({_EQUAL} OR {expired})").select("path")
        selected = self._limited({*paths, *(row["path"] for row in parsed)}, [differing])
        places = frozenset((row["file"], row["row"]) for row in parsed)
        return other.reduced(facts, selected, parsed=places), self._rows.selected(selected)

    def _paths(self, paths: Iterable[str]) -> DataFrame:
        return sql.broadcast(ship(self._spark, [{"path": path} for path in sorted(paths)], "path: string"))

    def _limited(self, named: Set[str], selected: Sequence[DataFrame]) -> _Paths:
        """Return the paths that commits name, and the selected ones.

        :raises AllFilesNeededError: if they are too many
        """
        found = {*named}
        for paths in selected:
            found.update(row["path"] for row in paths.distinct().limit(len(named) + _MOST + 1).collect())
            if len(found) > len(named) + _MOST:
                raise AllFilesNeededError(f"more than {_MOST:,} files are needed one by one")
        return _Paths(frozenset(found), self._paths(found))


def action_as_json(kind: str, struct: Any, wanted: Sequence[str] | None, *, apart: bool) -> str:
    """Return the expression for an action as JSON.

    :param apart: True to return the parsed number of rows as a field of its own; False to return it as ``stats``
    """
    if wanted is None:
        return f"to_json(`{kind}`) AS `{kind}`"
    counted = PARSED_COUNT in wanted and not apart
    fields = [
        f"'{name}', {kind}.{name}" for name in wanted if name in struct.names and not (counted and name in _COUNTS)
    ]
    counts = [expression for name, expression in _COUNTS.items() if counted and _has_count(struct, name)]
    if counts:
        fields.append(f"'stats', coalesce({', '.join(counts)})")
    if PARSED_COUNT in wanted and apart and "stats_parsed" in struct.names and _has_count(struct, "stats_parsed"):
        fields.append(f"'{PARSED_COUNT}', {_COUNTS['stats_parsed']}")
    options = ", map('ignoreNullFields', 'false')" if PARSED_FIELDS[0] in wanted else ""
    described = f"to_json(named_struct({', '.join(fields)}){options})" if fields else "'{}'"
    return f"CASE WHEN {kind} IS NOT NULL THEN {described} END AS {kind}"


def _has_count(add: Any, name: str) -> bool:
    """Return True if a checkpoint's ``add`` can have the number of rows in the field ``name``."""
    if name not in add.names:
        return False
    names = getattr(add[name].dataType, "names", None)
    return names is None or "numRecords" in names
