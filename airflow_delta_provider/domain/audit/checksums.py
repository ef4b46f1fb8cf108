"""Checksum files, compared with the versions that they claim to be about: LG08. PROTOCOL.md, Version Checksum File."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.audit.history import HistoryAudit
from airflow_delta_provider.domain.checks.log import rules
from airflow_delta_provider.domain.delta.checksum import BrokenChecksumError, checksum_name, parse_checksum
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.report.finding import Finding


def check_checksum(version: int, content: bytes, audit: HistoryAudit) -> Iterator[Finding]:
    """Yield how a checksum file contradicts its version.

    :param audit: has just judged that version
    """
    try:
        checksum = parse_checksum(content)
        state = audit.state()
    except BrokenChecksumError as error:
        yield _finding(version, f"cannot be used: {error}")
        return
    except BrokenLogError:
        return
    wrong = []
    if checksum.protocol != state.protocol:
        wrong.append(f"the protocol is {checksum.protocol}, and {state.protocol} in the log")
    if checksum.metadata != state.metadata:
        wrong.append("the metadata is not that of the log")
    for what, claimed, counted in (
        ("number of files", checksum.num_files, audit.live_files),
        ("size of all files", checksum.table_size, audit.live_bytes),
    ):
        if None not in (claimed, counted) and claimed != counted:
            wrong.append(f"the {what} is {claimed}, and {counted} in the log")
    if wrong:
        yield _finding(version, f"contradicts the log: {'; '.join(wrong)}")


def _finding(version: int, problem: str) -> Finding:
    return rules.CONTRADICTING_CHECKSUM.finding(
        f"The checksum file of version {version} {problem}. Engines that trust it, as Delta Spark does for protocol "
        "and metadata, see another table than the others, or refuse this one. Look whether the log was changed by "
        "hand; if not, delete the file.",
        version=version,
        path=f"_delta_log/{checksum_name(version)}",
    )
