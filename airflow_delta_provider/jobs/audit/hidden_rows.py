"""Rows that queries lose, counted: the predicates of findings, run with and without skipping of files.

Delta Spark runs them through ``RowProofs``; ``deltalake`` too, if it is installed with the job.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from airflow_delta_provider.domain.checks.data_files.file_comparison import EXCLUDED, NULLS_HIDDEN
from airflow_delta_provider.domain.engine.secret_settings import excerpt
from airflow_delta_provider.domain.report.answers import HiddenRows
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.text import split_name, sql_column
from airflow_delta_provider.jobs.delta.session import OpenTable
from airflow_delta_provider.jobs.row_tracking.row_proofs import RowProofs

#: Maximum number of predicates: each is a query of the whole table.
_MOST = 20
_SHORTENED = "the value in the predicate is shortened"


@dataclass(frozen=True)
class Query:
    """A predicate that loses rows, according to a finding."""

    rule: str
    column: str
    predicate: str

    def counted(self, engine: str, rows: int, found: int) -> HiddenRows:
        """Return the answer of an engine.

        :param rows: number of rows without skipping
        :param found: number of rows with skipping
        """
        return self._answer(engine, rows=rows, found=found)

    def failed(self, engine: str, problem: str) -> HiddenRows:
        """Return the reason why an engine gave no answer."""
        return self._answer(engine, problem=excerpt(problem))

    def _answer(self, engine: str, **known: Any) -> HiddenRows:
        return HiddenRows(rule=self.rule, column=self.column, predicate=self.predicate, engine=engine, **known)


def queries_of(findings: Iterable[Finding]) -> list[Query]:
    """Return the predicates of findings, one for each rule and column, up to a limit."""
    found: dict[tuple[str, str | None], Query] = {}
    for finding in findings:
        if finding.code in (EXCLUDED.code, NULLS_HIDDEN.code) and len(found) < _MOST:
            predicate = str((finding.facts or {}).get("predicate"))
            query = Query(finding.code, finding.column or "", predicate)
            found.setdefault((finding.code, finding.column), query)
    return list(found.values())


def hidden_rows(
    queries: Sequence[Query], table: OpenTable, version: int, proofs: RowProofs | None
) -> Iterator[HiddenRows]:
    """Yield the answers of the engines that are there.

    :param proofs: reads rows with Spark; None to ask ``deltalake`` alone
    """
    whole = []
    for query in queries:
        if "…" in query.predicate:
            yield query.failed("Delta Spark", _SHORTENED)
        else:
            whole.append(query)
    expected: dict[Query, int] = {}
    if proofs is not None and whole:
        counts = proofs.found_rows(table, version, [query.predicate for query in whole])
        for query, (engine, rows, found, problem) in zip(whole, counts):
            if problem is None:
                expected[query] = rows
            yield query.counted(engine, rows, found) if problem is None else query.failed(engine, problem)
    yield from by_deltalake(whole, table.location, version, expected)


def by_deltalake(
    queries: Sequence[Query], location: str, version: int, expected: Mapping[Query, int] = MappingProxyType({})
) -> Iterator[HiddenRows]:
    """Yield the answers of ``deltalake``, as a PyArrow dataset and by SQL; none if it or PyArrow is not installed.

    :param expected: numbers of rows without skipping, by another engine
    """
    try:
        deltalake: Any = importlib.import_module("deltalake")
        importlib.import_module("pyarrow.dataset")
        engine = f"deltalake {importlib.metadata.version('deltalake')}"
    except (ImportError, importlib.metadata.PackageNotFoundError):
        return
    known = dict(expected)
    table = dataset = None
    for query in queries:
        try:
            if table is None:
                table = deltalake.DeltaTable(location, version=version)
            if dataset is None:
                dataset = table.to_pyarrow_dataset()
            names = split_name(query.column)
            wanted = _expression(query.predicate.removeprefix(sql_column(query.column)), dataset.schema, names)
            found = dataset.count_rows(filter=wanted)
            rows = sum(_count(batch, wanted) for batch in _whole(dataset).to_batches(columns=[names[0]]))
            answer = query.counted(engine, rows, found)
            if rows != known.setdefault(query, rows):
                answer = query.failed(engine, f"{_OTHER_VALUES}: {rows} rows fit without skipping")
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a Rust panic is not an Exception
            answer = query.failed(engine, str(error) or type(error).__name__)
        yield answer
        if table is not None and hasattr(deltalake, "QueryBuilder"):
            yield _by_sql(query, deltalake.QueryBuilder().register("t", table), f"{engine} SQL", known)


def _by_sql(query: Query, builder: Any, engine: str, expected: Mapping[Query, int]) -> HiddenRows:
    """Return the answer of ``deltalake`` by SQL."""
    name, *fields = split_name(query.column)
    column = "".join([f'"{_doubled(name, _DOUBLE)}"', *(f"['{_doubled(each, _SINGLE)}']" for each in fields)])
    try:
        condition = query.predicate.removeprefix(sql_column(query.column))
        types = _batches(builder, f"SELECT arrow_typeof({column}) AS v FROM t LIMIT 1")
        of = next(iter(types))["v"][0].as_py().replace("View", "")
        compared = condition
        if condition not in _OF_NULLS:
            operator, text = _comparison(condition)
            compared = f" {operator} arrow_cast('{_doubled(text, _SINGLE)}', '{of}')"
        counts = _batches(builder, f"SELECT count(*) AS v FROM t WHERE {column}{compared}")
        found = next(iter(counts))["v"][0].as_py()
        values = _batches(builder, f"SELECT {column} AS v FROM t")
        wanted = _expression(condition, values.schema, ("v",))
        rows = sum(_count(batch, wanted) for batch in values)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a Rust panic is not an Exception
        return query.failed(engine, str(error) or type(error).__name__)
    if rows != expected.get(query, rows):
        return query.failed(engine, f"{_OTHER_VALUES}: {rows} rows fit without skipping")
    return query.counted(engine, rows, found)


def _batches(builder: Any, sql: str) -> Any:
    import pyarrow

    answer = builder.execute(sql)
    if hasattr(answer, "fetchall"):  # before deltalake 1.0
        answer = pyarrow.Table.from_batches(answer.fetchall())
    reader = pyarrow.RecordBatchReader.from_stream(answer)
    if str(reader.schema.field("v").type) == "string_view":  # PyArrow filters no such columns
        reader = reader.cast(pyarrow.schema([("v", pyarrow.string())]))
    return reader


_OTHER_VALUES = "it reads other values"
_SINGLE, _DOUBLE = "'", '"'


def _doubled(text: str, quote: str) -> str:
    return text.replace(quote, 2 * quote)


def _whole(dataset: Any) -> Any:
    """Return a dataset of the same files without statistics, by which PyArrow fills columns of NULLs unread."""
    import pyarrow.dataset

    return pyarrow.dataset.dataset(
        dataset.files, schema=dataset.schema, format=dataset.format, filesystem=dataset.filesystem
    )


def _count(batch: Any, wanted: Any) -> int:
    import pyarrow

    return int(pyarrow.Table.from_batches([batch]).filter(wanted).num_rows)


_COMPARISON = re.compile(
    r" (?P<operator>>=|<=|>|<) (?:[A-Z_]+ |double\()?(?P<quote>'?)(?P<value>.*)(?P=quote)\)?", re.DOTALL
)


_OF_NULLS = (" IS NULL", " IS NOT NULL")


def _comparison(condition: str) -> tuple[str, str]:
    """Return the operator and the value of a comparison.

    :raises ValueError: if it has another form
    """
    found = _COMPARISON.fullmatch(condition)
    if found is None:
        raise ValueError("the predicate has an unknown form")
    text = re.sub(r"\\(.)", r"\1", found["value"], flags=re.DOTALL) if found["quote"] else found["value"]
    return found["operator"], text


def _expression(condition: str, schema: Any, names: tuple[str, ...]) -> Any:
    """Return the condition of a finding on a column as an expression of PyArrow.

    :raises ValueError: if it has another form
    """
    import pyarrow
    import pyarrow.dataset

    column, of = pyarrow.dataset.field(*names), schema.field(names[0]).type
    for name in names[1:]:
        of = of.field(name).type
    if condition in _OF_NULLS:
        return column.is_null() if condition == _OF_NULLS[0] else column.is_valid()
    operator, text = _comparison(condition)
    value = pyarrow.scalar(text == "true") if pyarrow.types.is_boolean(of) else pyarrow.scalar(text).cast(of)
    compared = {">=": column >= value, "<=": column <= value, ">": column > value, "<": column < value}
    return compared[operator]
