"""``LG``: the log as a whole, and the files beside its commits."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import ANY_COMMIT, Need, RuleFamily, Scope

_ENTRIES = "PROTOCOL.md, Delta Log Entries"
_CHECKPOINTS = "PROTOCOL.md, Checkpoints"

FAMILY = RuleFamily(
    "LG",
    "the log",
    "The log as a whole, and the files beside its commits: whether they can be read, and tell one table together.",
    _ENTRIES,
)
_state = FAMILY.of(Scope.STATE)
_commit = FAMILY.of(Scope.COMMIT)
_history = FAMILY.of(Scope.HISTORY)

_BRING_BACK = "Bring the file back from a backup or another replica of the log."
_DELETE = "Delete the file, which only saves readers work, and update the engine that wrote it."

HISTORY_NOT_KEPT = _history.undecided(
    1,
    "older commits are not kept",
    effect="What earlier commits did cannot be judged, but for the state that they led to.",
    remedy="Audit the table more often than its log is cleaned up, or since the version that the message names.",
    source="PROTOCOL.md, Metadata Cleanup",
    needs=(Need.LOG,),
    reported_once=True,
)
GAP = _history.error(
    2,
    "commit missing",
    effect="The versions after the gap, or those before the next checkpoint, cannot be read any more.",
    remedy=_BRING_BACK,
    needs=(Need.LOG,),
)
FILE_TWICE = _commit.error(
    3,
    "file added or removed twice in a commit",
    effect="Readers may apply either of the actions, so they can see different tables.",
    remedy="RESTORE the table to the version before, write the data again, and update the engine that wrote the "
    "commit.",
)
TWO_DELETION_VECTORS = _state.error(
    4,
    "file live with two deletion vectors",
    effect="Rows of the file are read twice, with the same row ids.",
    remedy="RESTORE the table to the version before.",
    source="PROTOCOL.md, Action Reconciliation",
    needs=(Need.FILES,),
    about_live_files=True,
)
DOMAIN_NOT_IN_CHECKPOINT = _history.warning(
    5,
    "checkpoint lacks domain metadata",
    effect="Readers and writers that start from the checkpoint do not know the domain, such as row tracking's mark.",
    remedy="Delete the checkpoint while the commits are still kept, and update the engine that wrote it.",
    source=_CHECKPOINTS,
    threads=("delta-io/delta-kernel-rs#1716",),
    follows_from=ANY_COMMIT,
    needs=(Need.LOG,),
)
CATALOG_MANAGED = _state.undecided(
    6,
    "the catalog knows more than the log",
    effect="There may be commits that the directory does not hold yet, so what it says is not the table.",
    remedy="Check the table where its catalog lets it be read.",
    source="PROTOCOL.md, Catalog-managed tables",
)
CONTRADICTING_CHECKPOINT = _history.error(
    7,
    "checkpoint contradicts the commits that it stands for",
    effect="Readers that start from the checkpoint see another table than those that replay the commits.",
    remedy="Find out which of the two is right, and bring the other back from a backup.",
    source=_CHECKPOINTS,
    follows_from=ANY_COMMIT,
    needs=(Need.LOG,),
)
CONTRADICTING_CHECKSUM = _state.error(
    8,
    "checksum file contradicts its version",
    effect="Engines that go by the checksum take the version for damaged, or take its wrong numbers for the table's.",
    remedy=_DELETE,
    source="PROTOCOL.md, Version Checksum File",
    follows_from=ANY_COMMIT,
    needs=(Need.STATE, Need.FILES, Need.LOG),
)
DAMAGED_COMMIT = _commit.error(
    9,
    "commit damaged",
    effect="Its version, and those after it up to the next checkpoint, cannot be read.",
    remedy=_BRING_BACK,
)
DAMAGED_CHECKPOINT = _history.error(
    10,
    "checkpoint damaged",
    effect="Readers fail on it, or have to find their way from an earlier checkpoint or from version 0.",
    remedy=_BRING_BACK,
    source=_CHECKPOINTS,
    needs=(Need.LOG,),
)
WRONG_POINTER = _state.warning(
    11,
    "_last_checkpoint damaged, or points to no checkpoint",
    effect="Readers fail, or list the log to find the newest checkpoint.",
    remedy="Delete _last_checkpoint: engines write it anew with the next checkpoint.",
    source="PROTOCOL.md, Last Checkpoint File",
)
CONTRADICTING_COMPACTION = _history.error(
    12,
    "log compaction file contradicts the commits that it stands for",
    effect="Readers that use it see another table than those that replay the commits.",
    remedy=_DELETE,
    source="PROTOCOL.md, Log Compaction Files",
    follows_from=ANY_COMMIT,
    needs=(Need.LOG,),
)
OUT_OF_TIME = _history.undecided(
    13,
    "audit given up",
    effect="Later commits, or data files, were not looked at.",
    remedy="Give the audit more seconds_per_table, a state_path or a lower level.",
    source="",
)
