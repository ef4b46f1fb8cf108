"""Checksum files, compared with their versions: LG08. PROTOCOL.md, Version Checksum File."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.checks.log.family import FAMILY
from airflow_delta_provider.domain.checks.rule import ANY_COMMIT, Need, Scope
from airflow_delta_provider.domain.delta.checksum import BrokenChecksumError, checksum_name, parse_checksum
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding

CONTRADICTING_CHECKSUM = FAMILY.of(Scope.STATE).error(
    8,
    "checksum file contradicts its version",
    effect="Engines that trust it, as Delta Spark does for protocol and metadata, see another table than others, or "
    "refuse it.",
    remedy="Check whether the log was edited manually; if not, delete the checksum file.",
    source="PROTOCOL.md, Version Checksum File",
    follows_from=ANY_COMMIT,
    needs=(Need.STATE, Need.FILES, Need.LOG),
)


@on_demand(CONTRADICTING_CHECKSUM)
def check_checksum(
    version: int, content: bytes, state: TableState, *, files: int | None, size: int | None
) -> Iterator[Finding]:
    """Yield how a checksum file contradicts its version.

    :param files: number of live files; None where it is unknown
    :param size: bytes of all live files; None where it is unknown
    """
    try:
        checksum = parse_checksum(content)
    except BrokenChecksumError as error:
        yield _finding(version, "cannot be used: {error}", error=Prose(error))
        return
    wrong = []
    if checksum.protocol != state.protocol:
        wrong.append(f"the protocol is {checksum.protocol}, but {state.protocol} in the log")
    if checksum.metadata != state.metadata:
        wrong.append("the metadata is not that of the log")
    counts = (("number of files", checksum.num_files, files), ("size of all files", checksum.table_size, size))
    for what, claimed, counted in counts:
        if None not in (claimed, counted) and claimed != counted:
            wrong.append(f"the {what} is {claimed}, but {counted} in the log")
    if wrong:
        yield _finding(version, "contradicts the log: {differences}", differences=wrong)


def _finding(version: int, problem: str, **facts: Any) -> Finding:
    return CONTRADICTING_CHECKSUM.found(
        f"The checksum file of version {{version}} {problem}.",
        version=version,
        path=f"_delta_log/{checksum_name(version)}",
        **facts,
    )
