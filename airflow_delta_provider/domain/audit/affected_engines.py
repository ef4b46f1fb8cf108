"""Names of the engines that findings about statistics and partition values of files concern.

They rely on these statistics, or their reading of the value was measured.

The names are part of the effect, so a changed fleet does not make a finding new or changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from airflow_delta_provider.domain.checks.actions.partition_values import AMBIGUOUS_PARTITION_VALUE
from airflow_delta_provider.domain.checks.actions.statistics import CONTRADICTORY_STATISTICS, ROUNDED_BOUNDS
from airflow_delta_provider.domain.checks.data_files.file_comparison import EXCLUDED, NULLS_DIFFER, NULLS_HIDDEN, WIDE
from airflow_delta_provider.domain.checks.data_files.files import ROW_COUNT
from airflow_delta_provider.domain.checks.log.checkpoints import LOST_STATISTICS
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.checks.rule import Rule
from airflow_delta_provider.domain.delta.column_statistics import Columns, columns_of
from airflow_delta_provider.domain.delta.data_type import UnknownTypeError, parse_type
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.partition_value import measured_engines, readings
from airflow_delta_provider.domain.engine.fleet import TableFleet
from airflow_delta_provider.domain.engine.statistics_use import Reliance
from airflow_delta_provider.domain.report.report import Finding, Severity

#: The uses of statistics that a violation makes wrong.
_USES: Mapping[Rule, tuple[Reliance, ...]] = {
    EXCLUDED: (Reliance.BOUNDS, Reliance.EXTREMES),
    NULLS_HIDDEN: (Reliance.NULLS, Reliance.COUNTS),
    NULLS_DIFFER: (Reliance.COUNTS,),
    WIDE: (Reliance.EXTREMES,),
    ROW_COUNT: (Reliance.ROWS,),
    CONTRADICTORY_STATISTICS: (Reliance.BOUNDS,),
    ROUNDED_BOUNDS: (Reliance.BOUNDS,),
    LOST_STATISTICS: (Reliance.BOUNDS, Reliance.ROWS),
}
#: Ends the meanings of uses that depend on the type of one column.
_OF_TYPE = " of this type"
#: It answers no MIN and MAX from bounds if a file has a deletion vector. The rule's severity is then a warning.
_NEEDS_NO_VECTORS = "Delta Spark"


def naming_engines(
    findings: Iterable[Finding], metadata: Metadata | None, fleet: TableFleet | None
) -> Iterator[Finding]:
    """Yield findings. The effect of open ones about statistics names the engines that rely on these statistics.

    The effect of one about a partition value names the engines of the fleet whose reading is known.

    :param metadata: metadata of the table; None if unknown
    :param fleet: engines that use the table; None to name all known engines
    """
    engines = fleet if fleet is not None and fleet.members else None
    columns = {} if metadata is None else dict(_types(columns_of(metadata) or Columns()))
    for finding in findings:
        rule = RULES.get(finding.code)
        uses = () if rule is None or not finding.is_open else _USES.get(rule, ())
        sentences = list(_sentences(finding, uses, columns, engines))
        if finding.code == AMBIGUOUS_PARTITION_VALUE.code and finding.is_open and engines is not None:
            sentences = list(_readers(finding, engines))
        if rule is None or not sentences:
            yield finding
            continue
        effect = " ".join([rule.effect if finding.effect is None else finding.effect, *sentences])
        yield rule.worded(replace(finding, effect=effect))


def _types(columns: Columns, *, is_field: bool = False) -> Iterator[tuple[str, tuple[str, bool]]]:
    """Yield columns by name, with their types, and True for fields of structs."""
    for kind in columns.values():
        if kind.below is None:
            yield kind.name, (kind.type_name, is_field)
        else:
            yield from _types(kind.below, is_field=True)


def _sentences(
    finding: Finding, uses: Iterable[Reliance], columns: Mapping[str, tuple[str, bool]], fleet: TableFleet | None
) -> Iterator[str]:
    engines = TableFleet.of_known_engines() if fleet is None else fleet
    if finding.severity is Severity.WARNING and finding.code == WIDE.code:
        members = tuple(member for member in engines.members if member.profile.name != _NEEDS_NO_VECTORS)
        engines = replace(engines, members=members)
    for use in uses:
        if not use.is_of_columns:
            types = [("", False)]
        elif finding.code == LOST_STATISTICS.code:
            types = list(columns.values())
        else:
            known = columns.get(finding.column or "")
            types = [] if known is None else [known]
        if not types:
            continue
        found = [engines.relying(use, of, is_field=is_field) for of, is_field in dict.fromkeys(types)]
        names = list(dict.fromkeys(name for relying, _ in found for name in relying))
        unknown = [name for name in dict.fromkeys(name for _, open_ in found for name in open_) if name not in names]
        meaning = use.meaning if finding.column is not None else use.meaning.removesuffix(_OF_TYPE)
        if fleet is None:
            if names:
                yield f"Engines known to {meaning}: {', '.join(names)}."
        elif names:
            yield f"Engines of the fleet that {meaning}: {', '.join(names)}."
        else:
            yield f"No engine of the fleet is known to {meaning}."
        if fleet is not None and unknown:
            yield f"Unknown for {', '.join(unknown)}."


def _readers(finding: Finding, fleet: TableFleet) -> Iterator[str]:
    """Yield the engines of the fleet whose reading of a partition value is known, and the others."""
    facts = finding.facts or {}
    try:
        sentence = readings(str(facts.get("value")), parse_type(str(facts.get("type"))))
    except UnknownTypeError:
        return
    if sentence is None:
        return
    measured = measured_engines(sentence)
    names = [member.name for member in fleet.members if member.profile.name in measured]
    others = [member.name for member in fleet.members if member.profile.name not in measured]
    if names:
        yield f"Engines of the fleet with a known reading: {', '.join(names)}."
    if others:
        yield f"The reading of {', '.join(others)} is unknown."
