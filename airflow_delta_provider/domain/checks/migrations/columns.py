"""Effects of a migration on columns: MG01 to MG09."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from airflow_delta_provider.domain.checks.migrations import FAMILY
from airflow_delta_provider.domain.checks.migrations.planned import PlannedMigration, on_plan
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.data_type import (
    BYTE,
    DATE,
    INTEGER,
    LONG,
    SHORT,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructType,
    lowered,
    path_text,
    sql_name,
)
from airflow_delta_provider.domain.delta.features.columns import can_widen
from airflow_delta_provider.domain.delta.metadata import is_plain_name
from airflow_delta_provider.domain.delta.table_properties import COLUMN_MAPPING_MODE, ENABLE_CHANGE_DATA_FEED
from airflow_delta_provider.domain.report.report import Finding, Severity

_plan = FAMILY.of(Scope.PLAN)

COLUMN_DROPPED = _plan.warning(
    1,
    "column is dropped",
    name="migration-drops-column",
    effect="Its values are gone from the table, and queries, views and jobs that name it fail. Earlier versions keep "
    "them only until VACUUM and the clean-up of the log.",
    remedy="Keep the column until nothing reads it; or copy its values elsewhere first.",
)


@on_plan(COLUMN_DROPPED)
def _dropped(plan: PlannedMigration) -> Iterator[Finding]:
    for path in plan.dropped:
        yield COLUMN_DROPPED.found("{column} is dropped.", column=path_text(path))


COLUMN_RENAMED = _plan.warning(
    2,
    "column is renamed",
    name="migration-renames-column",
    effect="Queries, views, jobs and writers that use the old name fail, or read NULL.",
    remedy="Change all uses of the old name at the same time; or add a column with the new name, and drop the old "
    "one once nothing uses it.",
)


@on_plan(COLUMN_RENAMED)
def _renamed(plan: PlannedMigration) -> Iterator[Finding]:
    for each in plan.renamed:
        if lowered(each.old) != lowered(each.new):
            yield COLUMN_RENAMED.found(
                "{column} is renamed to {new}.", column=path_text(each.old), new=path_text(each.new)
            )


TYPE_CHANGED = _plan.warning(
    3,
    "type of a column changes",
    name="migration-changes-column-type",
    effect="Consumers and writers that expect the old type fail or convert values: typed readers, tables that are "
    "filled from this one, writers with a schema of their own.",
    remedy="Change the schemas of readers and of the tables downstream first.",
)
NARROWED = _plan.warning(
    4,
    "type that does not hold every value of the old one",
    name="migration-narrows-column-type",
    effect="The migration is refused if the column has a value that the new type cannot hold. Writers that still send "
    "such values fail afterwards.",
    remedy="Choose a type that holds all of them, or write the converted values to a new column.",
)
LOSS_ALLOWED = _plan.warning(
    5,
    "values that the new type cannot hold become NULL",
    name="migration-turns-values-into-null",
    effect="These values are lost, without an error.",
    remedy="Leave out `on_loss: null`: then the migration is refused if there is such a value.",
)


@on_plan(TYPE_CHANGED, NARROWED, LOSS_ALLOWED)
def _retyped(plan: PlannedMigration) -> Iterator[Finding]:
    for each in plan.retyped:
        column, old, new = path_text(each.path), sql_name(each.old), sql_name(each.new)
        if each.old == each.new:
            continue
        if holds_all(each.old, each.new):
            yield TYPE_CHANGED.found("{column} changes from {old} to {new}.", column=column, old=old, new=new)
            continue
        yield NARROWED.found(
            "{column} changes from {old} to {new}, which does not hold every {old}.", column=column, old=old, new=new
        )
        if each.null_on_loss:
            yield LOSS_ALLOWED.found(
                "Values of {column} that are not a {new} become NULL.", column=column, old=old, new=new
            )


NULLS_FORBIDDEN = _plan.warning(
    6,
    "column becomes NOT NULL",
    name="migration-makes-column-not-null",
    effect="Writers that leave the column out, or write NULL, fail.",
    remedy="Make sure that every writer fills the column, or give it a default that they use.",
    source="PROTOCOL.md, Column Invariants",
)


@on_plan(NULLS_FORBIDDEN)
def _nulls_forbidden(plan: PlannedMigration) -> Iterator[Finding]:
    for path in plan.nulls_forbidden:
        yield NULLS_FORBIDDEN.found("{column} becomes NOT NULL.", column=path_text(path))


REORDERED = _plan.warning(
    7,
    "columns get another order",
    name="migration-reorders-columns",
    effect="Writers and readers that match columns by position, such as INSERT INTO without a list of columns and "
    "UNION, put values into the wrong columns or fail.",
    remedy="Make sure that they name the columns.",
)


@on_plan(REORDERED)
def _reordered(plan: PlannedMigration) -> Iterator[Finding]:
    for parent in plan.reordered:
        if parent:
            yield REORDERED.found("The fields of {column} get another order.", column=path_text(parent))
        else:
            yield REORDERED.found("The columns of the table get another order.")


DEFAULT_FOR_NEW_ROWS = _plan.warning(
    8,
    "default does not apply to rows that exist",
    name="default-skips-existing-rows",
    effect="Rows that are there keep the value that they have; in a new column, that is NULL.",
    remedy="UPDATE those rows after the migration, if they need the value.",
    source="PROTOCOL.md, Default Columns",
)


@on_plan(DEFAULT_FOR_NEW_ROWS)
def _defaults(plan: PlannedMigration) -> Iterator[Finding]:
    if plan.before.files is not None and not plan.before.files:
        return
    for path, expression in plan.defaults.items():
        if expression.strip().lower() != "null":
            yield DEFAULT_FOR_NEW_ROWS.found(
                "{column} gets the default {expression}, for rows that are written from then on.",
                column=path_text(path),
                expression=expression,
            )


PARTITION_WIDENED = _plan.warning(
    9,
    "type of a partition column changes",
    name="migration-changes-partition-column-type",
    effect="Files keep their partition values as they were written: one value may then be spelled in several ways, and "
    "tools that read partitions from the names of directories see them as different.",
    remedy="Check the tools that use the names of directories; rewriting the table spells all values alike.",
    source="PROTOCOL.md, Partition Value Serialization",
)


@on_plan(PARTITION_WIDENED)
def _partitions(plan: PlannedMigration) -> Iterator[Finding]:
    partitions = {name.lower() for name in plan.before.metadata.partition_columns}
    for each in plan.retyped:
        if len(each.path) == 1 and each.path[0].lower() in partitions and not plan.rewrites_all:
            yield PARTITION_WIDENED.found(
                "The partition column {column} changes from {old} to {new}.",
                column=path_text(each.path),
                old=sql_name(each.old),
                new=sql_name(each.new),
            )


_STRING, _BINARY, _TIMESTAMP = PrimitiveType("string"), PrimitiveType("binary"), PrimitiveType("timestamp")
#: The most digits of a value of each integer type; a type holds every number with fewer digits.
_MOST_DIGITS: dict[DataType, int] = {BYTE: 3, SHORT: 5, INTEGER: 10, LONG: 19}


def holds_all(old: DataType, new: DataType) -> bool:
    """Return True if ``new`` holds each value of ``old`` distinctly; nested types are compared part by part."""
    if isinstance(old, ArrayType) and isinstance(new, ArrayType):
        return holds_all(old.element, new.element)
    if isinstance(old, MapType) and isinstance(new, MapType):
        return holds_all(old.key, new.key) and holds_all(old.value, new.value)
    if isinstance(old, StructType) and isinstance(new, StructType):
        others = {field.name.lower(): field.data_type for field in new.fields}
        return all(
            field.name.lower() in others and holds_all(field.data_type, others[field.name.lower()])
            for field in old.fields
        )
    if old == new or can_widen(old, new):
        return True
    if isinstance(new, DecimalType):
        return old in _MOST_DIGITS and new.precision - new.scale >= _MOST_DIGITS[old]
    if isinstance(old, DecimalType) and new in _MOST_DIGITS:
        return old.scale == 0 and old.precision < _MOST_DIGITS[new]
    if new == _STRING:
        return isinstance(old, (PrimitiveType, DecimalType)) and old != _BINARY
    return (old, new) == (DATE, _TIMESTAMP)


#: Reserved words in lower case, by engine. Spark SQL 4.2: reserved according to ``sql_keywords()``, with
#: ``spark.sql.ansi.enforceReservedKeywords``. Trino: the list in its documentation, "Reserved keywords".
_RESERVED: Mapping[str, frozenset[str]] = {
    "Spark SQL (ANSI)": frozenset(
        """
        all and any as authorization both call case cast check collate collation collations column constraint create
        cross current_date current_path current_schema current_time current_timestamp current_user distinct else end
        escape except execute false fetch filter for foreign from full grant group having in inner intersect into is
        join lateral leading left natural not null offset on only or order outer overlaps primary recursive
        references right select session_user some sql table then time to trailing union unique unknown user using
        when where with within
        """.split()
    ),
    "Trino": frozenset(
        """
        alter and as auto between by case cast constraint create cross cube current_catalog current_date
        current_path current_role current_schema current_time current_timestamp current_user deallocate delete
        describe distinct drop else end escape except exists extract false for from full group grouping having in
        inner insert intersect into is join json_array json_exists json_object json_query json_table json_value left
        like listagg localtime localtimestamp natural normalize not null on or order outer prepare primary recursive
        right rollup select skip table then trim true uescape union unnest using values when where with
        """.split()
    ),
}


def reserving(name: str) -> list[str]:
    """Return the engines that reserve a name, ignoring case."""
    return [engine for engine, words in _RESERVED.items() if name.lower() in words]


RESERVED_WORD = _plan.warning(
    10,
    "name is a reserved word",
    name="column-name-is-reserved-word",
    effect="Queries must quote the name; without quotes they fail, or mean something else.",
    remedy="Choose another name.",
    source="Keywords of Spark SQL 4.2 (SELECT * FROM sql_keywords()), Trino documentation, Reserved keywords",
)


@on_plan(RESERVED_WORD)
def _reserved_words(plan: PlannedMigration) -> Iterator[Finding]:
    for path in plan.new_names:
        if engines := reserving(path[-1]):
            yield RESERVED_WORD.found(
                "{name} is a reserved word of {engines}.", column=path_text(path), name=path[-1], engines=engines
            )


ILLEGAL_NAME = _plan.error(
    11,
    "name that needs column mapping",
    name="column-name-needs-mapping",
    effect="Engines refuse the change, or to write the table afterwards.",
    remedy="Choose another name, or enable the feature columnMapping in the same spec.",
    source="PROTOCOL.md, Column Mapping",
)


@on_plan(ILLEGAL_NAME)
def _illegal(plan: PlannedMigration) -> Iterator[Finding]:
    mode = plan.properties.get(COLUMN_MAPPING_MODE, plan.before.metadata.configuration.get(COLUMN_MAPPING_MODE))
    if mode is not None and mode.lower() in ("name", "id"):
        return
    for path in plan.new_names:
        if not is_plain_name(path[-1]):
            yield ILLEGAL_NAME.found(
                "Without column mapping, {column} cannot be a name: it has a space, a line break, a tab or one of "
                ",;{{}}()=.",
                column=path_text(path),
            )


CHANGE_DATA_NAME = _plan.error(
    12,
    "name of a column that the change data feed adds",
    name="column-name-reserved-for-change-data",
    effect="Engines refuse a table that has both; while the feed is off, it can no longer be enabled.",
    remedy="Choose another name.",
    source="PROTOCOL.md, Add CDC File",
)
_CHANGE_DATA_NAMES = frozenset({"_change_type", "_commit_version", "_commit_timestamp"})


@on_plan(CHANGE_DATA_NAME)
def _change_data_names(plan: PlannedMigration) -> Iterator[Finding]:
    is_on = plan.turns_on(ENABLE_CHANGE_DATA_FEED)
    for path in plan.new_names:
        if len(path) == 1 and path[0].lower() in _CHANGE_DATA_NAMES:
            yield CHANGE_DATA_NAME.found(
                "{column} is the name of a column of the change data feed, which is " + ("on." if is_on else "off."),
                severity=None if is_on else Severity.WARNING,
                column=path_text(path),
            )


LONG_NAME = _plan.warning(
    13,
    "name is longer than 255 bytes",
    name="column-name-longer-than-255-bytes",
    effect="Delta accepts the name, but AWS Glue does not, and a file system may refuse the directory of a partition.",
    remedy="Choose a shorter name.",
    source="AWS Glue Web API Reference, Column",
)
_MOST_BYTES = 255


@on_plan(LONG_NAME)
def _long(plan: PlannedMigration) -> Iterator[Finding]:
    for path in plan.new_names:
        length = len(path[-1].encode(errors="surrogatepass"))
        if len(path) == 1 and length > _MOST_BYTES:
            yield LONG_NAME.found(
                "The name {start}… has {length:byte}.", column=path_text(path), start=path[-1][:40], length=length
            )


NAME_USED_AGAIN = _plan.warning(
    14,
    "name of a column that was dropped",
    name="dropped-column-name-reused",
    effect="Time travel and change data show another column under the name. Engines that distinguish case, and files "
    "that were written without column mapping, mix up the two if only the case differs.",
    remedy="Choose a name that the table never had.",
)


@on_plan(NAME_USED_AGAIN)
def _used_again(plan: PlannedMigration) -> Iterator[Finding]:
    present = {lowered(column.parts) for column in plan.before.metadata.readable_columns or ()}
    dropped = {lowered(path): path for path in plan.dropped_earlier if lowered(path) not in present}
    dropped |= {lowered(path): path for path in plan.dropped}
    for path in plan.new_names:
        if lowered(path) in dropped:
            yield NAME_USED_AGAIN.found(
                "{column} has the name of the column {dropped}, which "
                + ("is dropped." if lowered(path) in map(lowered, plan.dropped) else "an earlier version had."),
                column=path_text(path),
                dropped=path_text(dropped[lowered(path)]),
            )
