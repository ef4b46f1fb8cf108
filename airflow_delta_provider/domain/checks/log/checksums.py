"""Checksum files, compared with their versions: LG08. PROTOCOL.md, Version Checksum File."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import lt
from typing import Any, NamedTuple
from typing import Protocol as Shape

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.log import FAMILY
from airflow_delta_provider.domain.checks.log.checkpoints import CheckpointForm
from airflow_delta_provider.domain.checks.rule import Need, Prose, RepairMethod, Scope
from airflow_delta_provider.domain.delta.checkpoint_comparison import (
    Originals,
    SnapshotComparison,
    metadata_differences,
    transaction_differences,
)
from airflow_delta_provider.domain.delta.derived_files import POINTER, LastCheckpoint, checksum_name
from airflow_delta_provider.domain.delta.log_files import LogSegment
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.snapshot import Snapshot, batches_of, file_key
from airflow_delta_provider.domain.delta.table_state import TableState, has_timestamps
from airflow_delta_provider.domain.formats.json_values import integer_of, integer_or_none, parse_json
from airflow_delta_provider.domain.report.report import Finding, Severity

CONTRADICTING_CHECKSUM = FAMILY.of(Scope.STATE).error(
    8,
    "checksum file contradicts its version",
    name="checksum-contradicts-version",
    effect="Engines that trust it, as Delta Spark does for protocol and metadata, see another table than others, or "
    "refuse it.",
    remedy="Compare it with the commit and with backups: it may be the only trace of a commit that was overwritten. "
    "Move it aside, do not delete it, once it is known to be wrong.",
    source="PROTOCOL.md, Version Checksum File",
    needs=(Need.STATE, Need.FILES, Need.LOG),
    repairs=(RepairMethod.DERIVED_FILE,),
)
_OF_ONE = ("numMetadata", "numProtocol")
#: The name in PROTOCOL.md, and the earlier name in Delta Spark.
_HISTOGRAMS = ("fileSizeHistogram", "histogramOpt")
_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, RecursionError)


class Counts(Shape):
    """Counts of the live files."""

    numbers: list[int]
    bytes: list[int]
    deleted_counts: list[int]
    vectors: int
    deleted: int


class Version(NamedTuple):
    """The facts about a version, as far as they are known.

    :param files: number of live files; None if unknown
    :param size: size of all live files in bytes; None if unknown
    :param info: the ``commitInfo`` of its commit
    :param counts: returns the live files counted in bins with these lower bounds; None if unknown
    :param snapshot: the sum of all commits; None if unknown
    :param originals: looks up ``add`` actions in the log
    """

    state: TableState
    files: int | None = None
    size: int | None = None
    info: Mapping[str, Any] | None = None
    counts: Callable[[tuple[int, ...]], Counts | None] = lambda _: None
    snapshot: Snapshot | None = None
    originals: Originals = lambda _: {}


@on_demand(CONTRADICTING_CHECKSUM)
def check_checksum(content: bytes, version: Version) -> Iterator[Finding]:
    """Yield findings if a checksum file contradicts its version."""
    number = version.state.version
    try:
        wire = parse_json(content)
        wrong = [*_of_counts(wire, version), *_of_head(wire, version), *_of_lists(wire, version)]
    except _MALFORMED as error:
        what = f"it has no {error.args[0]}" if isinstance(error, KeyError) else str(error)
        yield _finding(number, "cannot be used: {error}", error=Prose(what))
        return
    if wrong:
        yield _finding(number, "contradicts the log: {differences}", differences=wrong)
    lacking = [field for field in ("protocol", "metadata") if wire.get(field) is None]
    if lacking:
        # Checksum files of Databricks Runtime 6 to 8 have neither.
        yield _finding(
            number,
            "has no {lacking}",
            severity=Severity.WARNING if len(lacking) > 1 else None,
            effect="Engines ignore it, and replay the log instead.",
            lacking=" and no ".join(lacking),
        )


def _of_counts(wire: Mapping[str, Any], version: Version) -> Iterator[str]:
    totals = ("number of files", "numFiles", version.files), ("size of all files", "tableSizeBytes", version.size)
    for what, field, counted in totals:
        claimed = integer_of(wire, field)
        if counted is not None and claimed != counted:
            yield f"the {what} is {claimed}, but {counted} in the log"
    for field in _OF_ONE:
        if integer_of(wire, field) != 1:
            yield f"{field} is {wire[field]}, and must be 1"
    for field in _HISTOGRAMS:
        if wire.get(field) is not None:
            yield from _of_histogram(field, wire[field], version)
    counts = version.counts(())
    if counts is None:
        return
    vectors = ("numDeletedRecordsOpt", counts.deleted), ("numDeletionVectorsOpt", counts.vectors)
    for field, counted in vectors:
        if (number := integer_or_none(wire, field)) not in (None, counted):
            yield f"{field} is {number}, but {counted} in the log"
    deleted = wire.get("deletedRecordCountsHistogramOpt")
    if deleted is not None and deleted["deletedRecordCounts"] != counts.deleted_counts:
        yield f"deletedRecordCounts is {deleted['deletedRecordCounts']}, but {counts.deleted_counts} in the log"


def _of_histogram(field: str, wire: Mapping[str, Any], version: Version) -> Iterator[str]:
    bounds, numbers, sizes = wire["sortedBinBoundaries"], wire["fileCounts"], wire["totalBytes"]
    if {*map(type, bounds)} != {int} or bounds[0] != 0 or not all(map(lt, bounds, bounds[1:])):
        yield f"the bins of its {field} do not ascend from 0"
        return
    if not len(bounds) == len(numbers) == len(sizes):
        yield f"its {field} has {len(bounds)} bins, {len(numbers)} counts and {len(sizes)} sizes"
        return
    counts = version.counts(tuple(bounds))
    if counts is None:
        return
    for what, claimed, counted in (("fileCounts", numbers, counts.numbers), ("totalBytes", sizes, counts.bytes)):
        if claimed == counted:
            continue
        place = next((index for index, pair in enumerate(zip(claimed, counted)) if pair[0] != pair[1]), None)
        if place is not None:
            yield (
                f"{what} of its {field} from {bounds[place]} bytes on is {claimed[place]}, "
                f"but {counted[place]} in the log"
            )


def _of_head(wire: Mapping[str, Any], version: Version) -> Iterator[str]:
    state, info = version.state, version.info or {}
    if wire.get("protocol") is not None and (protocol := Protocol.from_json(wire["protocol"])) != state.protocol:
        yield f"the protocol is {protocol}, but {state.protocol} in the log"
    if wire.get("metadata") is not None:
        fields = metadata_differences(Metadata.from_json(wire["metadata"]), state.metadata)
        if fields:
            yield f"the metadata differs from the log: {', '.join(fields)}"
    if wire.get("txnId") and info.get("txnId") and wire["txnId"] != info["txnId"]:
        yield f"it was made for transaction {wire['txnId']}, and the commit is of {info['txnId']}"
    recorded, enabled = integer_or_none(wire, "inCommitTimestampOpt"), has_timestamps(state)
    if recorded is not None and not enabled:
        yield "it has an in-commit timestamp, which are not enabled"
    elif enabled and version.info is not None and recorded != info.get("inCommitTimestamp"):
        yield f"the in-commit timestamp is {recorded}, but {info.get('inCommitTimestamp')} in the log"


def _of_lists(wire: Mapping[str, Any], version: Version) -> Iterator[str]:
    domains, transactions, adds = (wire.get(field) for field in ("domainMetadata", "setTransactions", "allFiles"))
    if domains is not None:
        found = {domain["domain"]: domain["configuration"] for domain in domains if not domain.get("removed")}
        if found != version.state.domains or len(found) < len(domains):
            names = sorted(
                name
                for name in found.keys() | version.state.domains.keys()
                if found.get(name) != version.state.domains.get(name)
            )
            yield f"the domainMetadata of {', '.join(names) or 'a domain'} differs from the log"
    if adds is not None:
        yield from _of_files(adds, version)
    snapshot = version.snapshot
    if transactions is not None and snapshot is not None:
        found = {str(txn["appId"]): txn for txn in transactions}
        yield from transaction_differences(snapshot, found, more_allowed=False)
        if len(found) < len(transactions):
            yield "an application has several transactions in it"


def _of_files(adds: Sequence[Mapping[str, Any]], version: Version) -> Iterator[str]:
    keys = set(map(file_key, adds))
    if len(keys) < len(adds):
        yield "allFiles has a file twice"
    if version.snapshot is not None:
        comparison = SnapshotComparison(version.snapshot)
        for batch in batches_of({"add": add} for add in adds):
            comparison.take(batch)
        yield from (f"allFiles: {what}" for what in comparison.of_files(keys, version.originals))
    elif version.state.files is not None and (other := keys ^ version.state.files.keys()):
        yield f"allFiles has other files than the log, the first {min(other)[0]}"


def _finding(version: int, problem: str, **facts: Any) -> Finding:
    return CONTRADICTING_CHECKSUM.found(
        f"The checksum file of version {{version}} {problem}.",
        version=version,
        path=f"_delta_log/{checksum_name(version)}",
        **facts,
    )


WRONG_POINTER = FAMILY.of(Scope.STATE).warning(
    11,
    "_last_checkpoint damaged, or without its checkpoint",
    name="last-checkpoint-pointer-wrong",
    effect="Some readers fail; others list the whole log, which is slow.",
    remedy="Move _last_checkpoint aside: engines write it again with the next checkpoint.",
    source="PROTOCOL.md, Last Checkpoint File",
    repairs=(RepairMethod.DERIVED_FILE,),
)
_PATH = f"_delta_log/{POINTER}"
_MISLED = (
    "Readers that trust it, as Delta Spark does, look for other files than the checkpoint has, or see another table."
)
_WITNESS = (
    "Keep _last_checkpoint: it may be the last trace of actions that the checkpoint lost. Compare the checkpoint with "
    "the commits before it, or with a backup of the log, before anything is written or cleaned up."
)
_KINDS = ("protocol", "metaData")


@on_demand(WRONG_POINTER)
def check_pointer(
    content: bytes, checkpoints: Mapping[int, Sequence[LogSegment]], forms: Sequence[CheckpointForm] = ()
) -> Iterator[Finding]:
    """Yield a finding if ``_last_checkpoint`` is damaged or wrong.

    :param checkpoints: complete checkpoints by version
    :param forms: the contents of checkpoints, as far as they were read
    """
    try:
        pointer = LastCheckpoint.parse(content)
    except (ValueError, KeyError, TypeError, AttributeError):
        yield WRONG_POINTER.found("_last_checkpoint cannot be read.", path=_PATH)
        return
    version = pointer.version
    if version not in checkpoints:
        yield WRONG_POINTER.found(
            "_last_checkpoint points to version {pointed_to}, which has no complete checkpoint.",
            path=_PATH,
            pointed_to=version,
        )
        return
    segments = checkpoints[version]
    misleading, wrong = list(_misleading(pointer, forms)), list(_wrong(pointer, segments, forms))
    if misleading or wrong:
        yield WRONG_POINTER.found(
            "_last_checkpoint describes the checkpoint of version {pointed_to} wrongly: {wrong}.",
            severity=Severity.ERROR if misleading else None,
            effect=_MISLED if misleading else "Some readers ignore it, and list more of the log.",
            remedy=_WITNESS if _knew_more(pointer, forms) else None,
            path=_PATH,
            pointed_to=version,
            wrong=[*misleading, *wrong],
        )


def _knew_more(pointer: LastCheckpoint, forms: Sequence[CheckpointForm]) -> bool:
    """Return True if the pointer counts more actions or files than every checkpoint that it may mean."""
    path = None if pointer.v2 is None else pointer.v2.path
    meant = [form for form in forms if form.is_of(pointer.version, path)]
    size, adds = pointer.size or 0, pointer.num_of_add_files or 0
    return bool(meant) and all(size > form.actions or adds > form.adds for form in meant)


def _misleading(pointer: LastCheckpoint, forms: Sequence[CheckpointForm]) -> Iterator[str]:
    """Yield fields that lead readers to other actions than the checkpoint has, as readers need not open it."""
    v2 = pointer.v2
    form = None if v2 is None else next((form for form in forms if form.is_of(pointer.version, v2.path)), None)
    if v2 is None or form is None:
        return
    if v2.sidecars is not None and sorted(v2.sidecars) != sorted(form.sidecars):
        yield "it names other sidecar files"
    repeated: Mapping[str, Any] = {kind: body for action in v2.actions or () for kind, body in action.items()}
    for kind in _KINDS:
        if kind in repeated and not form.has(kind, repeated[kind]):
            yield f"its {kind} is another one"


def _wrong(pointer: LastCheckpoint, segments: Sequence[LogSegment], forms: Sequence[CheckpointForm]) -> Iterator[str]:
    """Yield fields that make readers distrust the pointer."""
    if pointer.parts is not None and pointer.parts not in [len(segment.checkpoint_files) for segment in segments]:
        yield f"parts is {pointer.parts}, and there is no checkpoint of so many"
    if pointer.v2 is not None and not any(pointer.v2.path in segment.checkpoint_files for segment in segments):
        yield f"there is no {pointer.v2.path}"
    if pointer.checksum != pointer.computed:
        yield f"its checksum is {pointer.checksum}, not {pointer.computed}"
    path = None if pointer.v2 is None else pointer.v2.path
    meant = [form for form in forms if form.is_of(pointer.version, path)]
    if not meant:
        return
    sizes = ("size", pointer.size), ("sizeInBytes", pointer.size_in_bytes), ("numOfAddFiles", pointer.num_of_add_files)
    counted = [dict(zip(("size", "sizeInBytes", "numOfAddFiles"), (f.actions, f.bytes, f.adds))) for f in meant]
    for name, number in sizes:
        if number is not None and all(number != counts[name] for counts in counted):
            yield f"{name} is {number}, not {counted[0][name]}"
