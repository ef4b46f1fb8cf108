"""Words that engines reserve: a column of that name has to be quoted."""

from __future__ import annotations

from collections.abc import Mapping

#: By engine, in lower case. Of Spark SQL 4.2 those that ``sql_keywords()`` says are reserved, with
#: ``spark.sql.ansi.enforceReservedKeywords``; of Trino those of its documentation, "Reserved keywords".
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
    """Return the engines that reserve a name, in any case."""
    return [engine for engine, words in _RESERVED.items() if name.lower() in words]
