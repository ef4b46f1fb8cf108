"""Deletion vectors that a commit adds, or keeps without the table feature: AC06, AC10, AC13 and AC21."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from airflow_delta_provider.domain.checks.actions import FAMILY, VECTORS, WRITE_AGAIN
from airflow_delta_provider.domain.checks.check import on_tracked, on_transition
from airflow_delta_provider.domain.checks.rule import Details, Healing, Need, Prose, RepairMethod, Scope
from airflow_delta_provider.domain.delta.deletion_vector import (
    BrokenDeletionVectorError,
    DeletionVector,
    LargeDeletionVectorError,
    check_descriptor,
)
from airflow_delta_provider.domain.delta.features.log import DELETION_VECTORS
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile
from airflow_delta_provider.domain.delta.table_properties import ENABLE_DELETION_VECTORS
from airflow_delta_provider.domain.delta.table_state import Transition
from airflow_delta_provider.domain.report.report import Finding, Severity
from airflow_delta_provider.domain.text import visible

_commit = FAMILY.of(Scope.COMMIT, VECTORS, about_live_files=True)


def _loses_vector(later: Transition, finding: Finding) -> bool:
    return any(file.path == finding.path and file.deletion_vector is None for file in later.commit.adds)


def _vector_is_not_allowed(later: Transition, finding: Finding, _: Details) -> bool:
    return not _loses_vector(later, finding) and not later.after.protocol.supports(DELETION_VECTORS)


DELETION_VECTOR_WITHOUT_FEATURE = _commit.error(
    6,
    "deletion vector without the feature",
    name="deletion-vector-without-feature",
    effect="Readers that do not know the feature open the table and return the deleted rows.",
    remedy="Enable the feature: enable-feature --feature deletionVectors (DeltaEnableFeatureOperator).",
    healing=Healing(_vector_is_not_allowed, by_files=True),
    repairs=(RepairMethod.LISTED_FEATURES,),
)


def _vectors(finding: Finding, transition: Transition) -> Details:
    return {"vectors": sorted({file.key[1] for file in transition.commit.adds if file.path == finding.path})}


def _vector_is_there(later: Transition, finding: Finding, details: Details) -> bool:
    """Return True until the file is added without the deletion vector, or with a sound descriptor of it.

    Another vector is checked again.
    """
    vectors = set(details["vectors"])
    again = [file for file in later.commit.adds if file.path == finding.path]
    if any(file.key[1] not in vectors for file in again):
        return False
    return not again or any(chain(_wrong_cardinality(again), _broken(again)))


WRONG_CARDINALITY = _commit.error(
    10,
    "deletion vector of a file whose number of rows is missing or smaller",
    name="row-count-missing-or-below-deletions",
    effect="Engines that count by statistics answer wrongly, and strict ones refuse the table.",
    remedy=WRITE_AGAIN,
    healing=Healing(_vector_is_there, _vectors, needs_details=True, by_files=True),
    repairs=(RepairMethod.STATISTICS,),
)


def _vector_is_not_enabled(later: Transition, finding: Finding, _: Details) -> bool:
    is_restored = later.restores and any(file.path == finding.path for file in later.commit.adds)
    return not (is_restored or _loses_vector(later, finding) or later.after.metadata.properties.deletion_vectors)


VECTOR_NOT_ENABLED = FAMILY.of(Scope.PAIR, "PROTOCOL.md, Deletion Vectors").error(
    13,
    "deletion vector written while they are disabled",
    name="deletion-vector-written-while-disabled",
    effect="The table has deletion vectors again, which its owner has disabled or never enabled, and readers without "
    "support for them stay locked out.",
    remedy="Remove it with REORG TABLE … APPLY (PURGE), and update the engine that wrote the commit.",
    healing=Healing(_vector_is_not_enabled, by_files=True),
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
    about_live_files=True,
)


BROKEN_VECTOR = _commit.error(
    21,
    "deletion vector that cannot be read",
    name="deletion-vector-descriptor-invalid",
    effect="Readers fail on the file, or return rows that were deleted.",
    remedy=WRITE_AGAIN,
    source="PROTOCOL.md, Deletion Vector Descriptor Schema",
    healing=Healing(_vector_is_there, _vectors, needs_details=True, by_files=True),
    repairs=(RepairMethod.VECTOR_FIELDS,),
)


@on_transition(
    DELETION_VECTOR_WITHOUT_FEATURE,
    WRONG_CARDINALITY,
    VECTOR_NOT_ENABLED,
    BROKEN_VECTOR,
    reads=("add.path", "add.stats", "add.deletionVector", "files", "metaData", "protocol"),
)
def _deletion_vectors(transition: Transition) -> Iterator[Finding]:
    added = [file for file in transition.commit.adds if file.deletion_vector is not None]
    if not added:
        return
    if not transition.after.protocol.supports(DELETION_VECTORS):
        yield DELETION_VECTOR_WITHOUT_FEATURE.found(
            "The commit adds {path} with a deletion vector, but the protocol ({protocol}) does not have "
            "deletionVectors.",
            path=added[0].path,
            protocol=str(transition.after.protocol),
        )
    yield from _wrong_cardinality(added)
    yield from _broken(added)
    yield from _not_enabled(transition, added)


def _wrong_cardinality(added: list[LiveFile]) -> Iterator[Finding]:
    for file in added:
        vector, rows = file.deletion_vector, file.num_records
        if vector is not None and (rows is None or vector.cardinality > rows):
            yield WRONG_CARDINALITY.found(
                "The commit adds {path} with a deletion vector of {deleted:row}, but "
                + (
                    "does not say how many rows the file has." if rows is None else "says that the file has {rows:row}."
                ),
                path=file.path,
                deleted=vector.cardinality,
                rows=rows,
            )


def _broken(added: list[LiveFile]) -> Iterator[Finding]:
    for file in added:
        vector, rows = file.deletion_vector, file.num_records
        if vector is None or rows is None or vector.cardinality > rows:
            continue  # AC10 reports it
        try:
            check_descriptor(vector, rows)
        except BrokenDeletionVectorError as error:
            large = isinstance(error, LargeDeletionVectorError)
            yield BROKEN_VECTOR.found(
                "The commit adds {path} with a deletion vector that cannot be used: {problem}.",
                severity=Severity.UNDECIDED if large else None,
                path=file.path,
                problem=Prose(visible(str(error))),
            )


@on_tracked(DELETION_VECTOR_WITHOUT_FEATURE, reads=("add.path", "add.deletionVector", "files", "protocol"))
def check_vectors_left(transition: Transition, live: Mapping[FileKey, LiveFile]) -> Iterator[Finding]:
    """Yield a finding if a commit removes the feature while files have deletion vectors.

    :param live: the files after the commit
    """
    before, after = transition.before.protocol, transition.after.protocol
    if not before.supports(DELETION_VECTORS) or after.supports(DELETION_VECTORS):
        return
    added = {file.path for file in transition.commit.adds}
    left = [file.path for file in live.values() if file.deletion_vector is not None and file.path not in added]
    if left:
        yield DELETION_VECTOR_WITHOUT_FEATURE.found(
            "The protocol ({protocol}) no longer has deletionVectors, but {files:live file} still {has} a deletion "
            "vector, for example {path}.",
            path=left[0],
            protocol=str(after),
            files=len(left),
            has=Prose("has" if len(left) == 1 else "have"),
        )


def _not_enabled(transition: Transition, added: list[LiveFile]) -> Iterator[Finding]:
    before, after = transition.before.metadata.properties, transition.after
    if transition.restores or not after.protocol.supports(DELETION_VECTORS):
        return
    if before.deletion_vectors or after.metadata.properties.deletion_vectors:
        return
    for file in added:
        live = transition.before_files.get(file.path)
        if file.deletion_vector is None or live is None or live.key == file.key:
            continue  # it came with its rows from elsewhere, or is unchanged
        had = 0 if live.deletion_vector is None else live.deletion_vector.cardinality
        has = file.deletion_vector.cardinality
        if has == had and (live.deletion_vector is None or _is_same(live.deletion_vector, file.deletion_vector)):
            continue  # no row is deleted by either, or they are one vector
        does, effect = "deletes rows of {path} by a deletion vector", None
        if has < had:
            does, effect = "replaces the deletion vector of {path} by a smaller one", "Rows that were deleted are back."
        elif has == had:
            does = "replaces the deletion vector of {path} by another one for as many rows"
            effect = "Rows that were deleted may be back, and others may be deleted in their place."
        yield VECTOR_NOT_ENABLED.found(
            f"{{property}} is not true, but the commit {does}.",
            effect=effect,
            path=file.path,
            property=ENABLE_DELETION_VECTORS,
        )


def _is_same(one: DeletionVector, other: DeletionVector) -> bool:
    """Return True if two descriptors name the same place of the same file, relative to the table or not."""
    try:
        ours, theirs = one.file or "", other.file or ""
    except BrokenDeletionVectorError:
        return False  # AC21 reports it
    short, long = sorted((ours, theirs), key=len)
    return short != "" and long.endswith(short) and one.offset == other.offset
