"""Names that a migration gives to columns: MG10 to MG14."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from airflow_delta_provider.domain.checks.migrations.family import FAMILY
from airflow_delta_provider.domain.checks.migrations.planned import PlannedMigration, on_plan
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.column import lowered, path_text
from airflow_delta_provider.domain.delta.column_mapping import is_plain_name
from airflow_delta_provider.domain.delta.table_properties import COLUMN_MAPPING_MODE, ENABLE_CHANGE_DATA_FEED
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

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


_plan = FAMILY.of(Scope.PLAN)

RESERVED_WORD = _plan.warning(
    10,
    "name is a reserved word",
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
    effect="Time travel and change data show another column under the name. Engines that distinguish case, and files "
    "that were written without column mapping, mix up the two if only the case differs.",
    remedy="Choose a name that the table never had.",
)


@on_plan(NAME_USED_AGAIN)
def _used_again(plan: PlannedMigration) -> Iterator[Finding]:
    here = {lowered(column.parts) for column in plan.before.metadata.readable_columns or ()}
    gone = {lowered(path): path for path in plan.gone if lowered(path) not in here}
    gone |= {lowered(path): path for path in plan.dropped}
    for path in plan.new_names:
        if lowered(path) in gone:
            yield NAME_USED_AGAIN.found(
                "{column} has the name of the column {dropped}, which "
                + ("is dropped." if lowered(path) in map(lowered, plan.dropped) else "an earlier version had."),
                column=path_text(path),
                dropped=path_text(gone[lowered(path)]),
            )
