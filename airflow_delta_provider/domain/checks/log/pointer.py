"""The pointer to the last checkpoint: LG11. PROTOCOL.md, Last Checkpoint File Schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.log.checkpoint_form import CheckpointForm
from airflow_delta_provider.domain.checks.log.family import FAMILY
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.last_checkpoint import POINTER, LastCheckpoint
from airflow_delta_provider.domain.delta.log_files import LogSegment
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

WRONG_POINTER = FAMILY.of(Scope.STATE).warning(
    11,
    "_last_checkpoint damaged, or without its checkpoint",
    effect="Some readers fail; others list the whole log, which is slow.",
    remedy="Move _last_checkpoint aside: engines write it again with the next checkpoint.",
    source="PROTOCOL.md, Last Checkpoint File",
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
    said = ("size", pointer.size), ("sizeInBytes", pointer.size_in_bytes), ("numOfAddFiles", pointer.num_of_add_files)
    counted = [dict(zip(("size", "sizeInBytes", "numOfAddFiles"), (f.actions, f.bytes, f.adds))) for f in meant]
    for name, number in said:
        if number is not None and all(number != counts[name] for counts in counted):
            yield f"{name} is {number}, not {counted[0][name]}"
