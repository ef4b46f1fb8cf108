"""A report for OpenLineage: the tables as datasets, with columns, version and audit results.

Datasets are named like paths in OpenLineage's integration for Spark, so that both meet in one graph: for object stores
``s3://bucket`` and the key, for disks ``file`` and the path. A table with a catalog name is a dataset only if the
report knows its location, since a wrong name would be another dataset. Without it, the results are tests of the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from inspect import signature
from typing import Any
from urllib.parse import urlsplit

from airflow_delta_provider.assets import catalog_dataset
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.report.report import Finding, JobReport, TableReport, Verdict
from airflow_delta_provider.domain.table_name import TableName, TableNameError

#: Schemes of object stores' namespaces, by the prefix of the location's scheme. Their names begin without a slash.
_OBJECT_STORES = {"s3": "s3", "gs": "gs", "abfs": "abfss", "wasb": "wasbs"}
#: Most tables in an event, and most assertions per table.
_MAX_TABLES, _MAX_ASSERTIONS = 1000, 200
#: Kind of the job that makes a table.
_CREATES = "create-table"
#: Jobs that check tables.
_CHECKS = frozenset({"audit", "check-row-tracking", "check-paimon-row-tracking", "check-drift"})
_SEVERITIES = {"ERROR": "error", "WARNING": "warn"}


@dataclass(frozen=True)
class Assertion:
    """The result of a check.

    :param assertion: code and title of the rule; for the result of all rules, the kind of the job
    :param severity: ``error`` or ``warn``
    :param name: stable name of the rule, or the kind of the job
    :param expected: expected value
    :param actual: observed value
    """

    assertion: str
    success: bool
    column: str | None = None
    severity: str = "error"
    description: str | None = None
    name: str | None = None
    expected: str | None = None
    actual: str | None = None


@dataclass(frozen=True)
class TableDataset:
    """A table as a dataset.

    :param namespace: address of its store
    :param columns: names and SQL types; empty if the report does not have them
    :param change: ``ALTER`` or ``CREATE``; None if it was only read
    :param also: namespace and name by which a catalog knows it; None if it is named by its location
    """

    namespace: str
    name: str
    columns: tuple[tuple[str, str], ...] = ()
    version: int | None = None
    assertions: tuple[Assertion, ...] = ()
    change: str | None = None
    also: tuple[str, str] | None = None


def dataset_name(table: str, location: str | None = None) -> tuple[str, str] | None:
    """Return the namespace and name of a table; None if unknown.

    :param table: name in the request
    :param location: URI of its directory, if known
    """
    try:
        location = location or TableName.parse(table).location
    except TableNameError:
        return None
    if location is None:
        return None
    parts = urlsplit(location)
    path = parts.path.rstrip("/") or "/"
    if parts.scheme in ("", "file"):
        return ("file", path) if path.startswith("/") else None
    authority = parts.netloc
    for begin, scheme in _OBJECT_STORES.items():
        if parts.scheme.startswith(begin):
            return f"{scheme}://{authority}", path.lstrip("/") or "/"
    return f"{parts.scheme}://{authority}".removesuffix("//").rstrip(":"), path


def datasets(report: JobReport) -> tuple[list[TableDataset], list[TableDataset]]:
    """Return the tables that a job read, and the tables that it changed."""
    read: list[TableDataset] = []
    changed: list[TableDataset] = []
    for table in report.tables[:_MAX_TABLES]:
        known = table.history or table.detail or {}
        named = _named(table)
        if named is None or table.version is None:
            continue
        columns = tuple((known.get("columns") or {}).items())
        change = ("CREATE" if report.kind == _CREATES else "ALTER") if table.changed else None
        dataset = TableDataset(*named, columns, table.version, _checked(report.kind, table), change, _in_catalog(table))
        (changed if table.changed else read).append(dataset)
    return read, changed


def results_without_dataset(report: JobReport) -> list[tuple[str, Assertion]]:
    """Return the results for tables whose location is unknown, each with the name of its table."""
    unnamed = [table for table in report.tables[:_MAX_TABLES] if _named(table) is None and table.version is not None]
    return [(table.table, each) for table in unnamed for each in _checked(report.kind, table)]


def _named(table: TableReport) -> tuple[str, str] | None:
    return dataset_name(table.table, (table.detail or {}).get("location"))


def _in_catalog(table: TableReport) -> tuple[str, str] | None:
    try:
        identifier = TableName.parse(table.table).identifier
    except TableNameError:
        return None
    return None if identifier is None else catalog_dataset(identifier)


def _checked(kind: str, table: TableReport) -> tuple[Assertion, ...]:
    return tuple(_assertions(kind, table))[:_MAX_ASSERTIONS] if kind in _CHECKS else ()


def operator_lineage(report: JobReport) -> Any:
    """Return the value for OpenLineage's provider; None if that is not installed."""
    try:
        from airflow.providers.openlineage.extractors import OperatorLineage
    except ImportError:
        return None
    read, changed = datasets(report)
    tests = _tests(results_without_dataset(report))
    return OperatorLineage(
        inputs=[_input(each) for each in read],
        outputs=[_output(each) for each in changed],
        run_facets={"test": tests} if tests is not None else {},
    )


def _tests(found: list[tuple[str, Assertion]]) -> Any:
    """Return the facet of a run with the results of its tests; None if there are none, or the client has no facet."""
    try:
        from openlineage.client.facet_v2 import test_run
    except ImportError:  # an older client
        return None
    executions = [
        test_run.TestExecution(
            name=each.name or each.assertion,
            status="pass" if each.success else "fail",
            severity=each.severity,
            type=each.assertion,
            description=each.description,
            expected=each.expected,
            actual=each.actual,
            params={"table": table, **({} if each.column is None else {"column": each.column})},
        )
        for table, each in found
    ]
    return test_run.TestRunFacet(tests=executions) if executions else None


def _assertions(kind: str, table: TableReport) -> Iterator[Assertion]:
    """Yield the overall result and the findings. Undecided findings are not assertions."""
    if table.verdict in (Verdict.PASS, Verdict.VIOLATED):
        yield Assertion(
            kind,
            table.verdict is Verdict.PASS,
            name=kind,
            expected=Verdict.PASS.value,
            actual=table.verdict.value,
        )
    for finding in table.findings:
        if finding.is_open and finding.severity.value in _SEVERITIES:
            yield _assertion(finding)


def _assertion(finding: Finding) -> Assertion:
    rule = RULES.get(finding.code)
    name = f"{finding.code} {rule.title}" if rule else finding.code
    text = finding.evidence or finding.message
    return Assertion(
        name,
        False,
        finding.column,
        _SEVERITIES[finding.severity.value],
        text[:1000],
        name=rule.name if rule else finding.code,
        expected="no finding",
        actual=finding.severity.value,
    )


def _input(dataset: TableDataset) -> Any:
    from openlineage.client.event_v2 import InputDataset
    from openlineage.client.facet_v2 import data_quality_assertions_dataset as quality

    known = [_wire(quality.Assertion, each) for each in dataset.assertions]
    facets = {"dataQualityAssertions": quality.DataQualityAssertionsDatasetFacet(assertions=known)} if known else {}
    return InputDataset(dataset.namespace, dataset.name, facets=_facets(dataset), inputFacets=facets)


def _output(dataset: TableDataset) -> Any:
    from openlineage.client.event_v2 import OutputDataset

    return OutputDataset(dataset.namespace, dataset.name, facets=_facets(dataset))


def _wire(kind: Any, assertion: Assertion) -> Any:
    """Return an assertion, without the fields that the installed client does not have."""
    return kind(**{name: value for name, value in asdict(assertion).items() if name in signature(kind).parameters})


def _facets(dataset: TableDataset) -> Mapping[str, Any]:
    from openlineage.client.facet_v2 import dataset_version_dataset, lifecycle_state_change_dataset, schema_dataset

    facets: dict[str, Any] = {
        "version": dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=str(dataset.version))
    }
    if dataset.change is not None:
        changes = lifecycle_state_change_dataset.LifecycleStateChange
        facets["lifecycleStateChange"] = lifecycle_state_change_dataset.LifecycleStateChangeDatasetFacet(
            lifecycleStateChange=changes[dataset.change]
        )
    if dataset.also is not None and (symlinks := _symlinks(*dataset.also)) is not None:
        facets["symlinks"] = symlinks
    if dataset.columns:
        fields = [schema_dataset.SchemaDatasetFacetFields(name=name, type=kind) for name, kind in dataset.columns]
        facets["schema"] = schema_dataset.SchemaDatasetFacet(fields=fields)
    return facets


def _symlinks(namespace: str, name: str) -> Any:
    """Return the facet with a dataset's name in a catalog; None if the client has no such facet."""
    try:
        from openlineage.client.facet_v2 import symlinks_dataset
    except ImportError:  # an older client
        return None
    named = symlinks_dataset.Identifier(namespace=namespace, name=name, type="TABLE")
    return symlinks_dataset.SymlinksDatasetFacet(identifiers=[named])
