"""``AC``: the actions of a commit, beyond what the other families say of them. PROTOCOL.md, Actions."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.actions import healing
from airflow_delta_provider.domain.checks.column_mapping.changes import ILLEGAL_MODE_CHANGE
from airflow_delta_provider.domain.checks.column_mapping.state import UNKNOWN_MODE
from airflow_delta_provider.domain.checks.healing import Healing
from airflow_delta_provider.domain.checks.log import rules as log
from airflow_delta_provider.domain.checks.metadata import rules as metadata
from airflow_delta_provider.domain.checks.protocol import rules as protocol
from airflow_delta_provider.domain.checks.row_tracking import rules as row_tracking
from airflow_delta_provider.domain.checks.rule import OF_SUBJECT, Need, RuleFamily, Scope, causes

_TIMESTAMPS = "PROTOCOL.md, Writer Requirements for In-Commit Timestamps"

FAMILY = RuleFamily(
    "AC",
    "actions of a commit",
    "Actions that a commit must not hold together, or not on such a table, beyond what the other families say.",
    "PROTOCOL.md, Delta Log Entries",
    shows="commitInfo",
)
_commit = FAMILY.of(Scope.COMMIT)
_pair = FAMILY.of(Scope.PAIR)

_UPDATE_ENGINE = "The log cannot be mended; update the engine that wrote the commit."

NO_TIMESTAMP = _commit.error(
    1,
    "in-commit timestamp missing or not first",
    effect="Readers that look for a version by its time, or follow the table by time, fail or go wrong.",
    remedy=_UPDATE_ENGINE,
    source=_TIMESTAMPS,
)
TIMESTAMP_NOT_LATER = _pair.error(
    2,
    "in-commit timestamp not after that of the version before",
    effect="Readers that look for a version by its time get the wrong one.",
    remedy=_UPDATE_ENGINE,
    source=_TIMESTAMPS,
    needs=(Need.STATE, Need.COMMIT),
)
REMOVED_FROM_APPEND_ONLY = _pair.error(
    3,
    "data removed from an append-only table",
    effect="Readers that follow the table by what is appended never learn of it.",
    remedy="RESTORE the table to the version before, or set delta.appendOnly to false if that was meant.",
    source="PROTOCOL.md, Append-only Tables",
    healing=Healing(healing.until_file_is_back, by_files=True),
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
    shows="remove",
)
DOMAIN_TWICE = _commit.error(
    4,
    "several domainMetadata actions for one domain in a commit",
    effect="Which one counts is up to the reader.",
    remedy="Set the domain again in one commit, and update the engine that wrote this one.",
    healing=Healing(healing.until_domain_is_set_once),
    shows="domainMetadata",
)
DOMAIN_WITHOUT_FEATURE = _commit.error(
    5,
    "domainMetadata without the feature",
    effect="Writers may lose the domain without a word.",
    remedy="Enable the feature domainMetadata.",
    source="PROTOCOL.md, Domain Metadata",
    follows_from=causes(
        protocol.FEATURE_VANISHED,
        protocol.VERSION_LOWERED,
        protocol.MISSING_DEPENDENCY,
        row_tracking.ENABLED_WITHOUT_FEATURE,
        *protocol.LISTS,
        later=True,
    ),
    healing=Healing(healing.until_domain_is_allowed),
    shows="domainMetadata",
)
DELETION_VECTOR_WITHOUT_FEATURE = _commit.error(
    6,
    "deletion vector without the feature",
    effect="Readers that do not know the feature open the table and return the deleted rows.",
    remedy="Enable the feature deletionVectors.",
    source="PROTOCOL.md, Writer Requirement for Deletion Vectors",
    follows_from=causes(protocol.FEATURE_VANISHED, protocol.VERSION_LOWERED, *protocol.LISTS, later=True),
    healing=Healing(healing.until_vector_is_allowed, by_files=True),
    about_live_files=True,
)
TRANSACTION_TWICE = _commit.error(
    7,
    "several txn actions for one application in a commit",
    effect="A stream that goes on from there may write data twice, or leave some out.",
    remedy="Update the engine that wrote the commit.",
    healing=Healing(healing.until_transaction_is_set_once),
    shows="txn",
)
NO_PARTITION_VALUES = _commit.error(
    8,
    "partition values missing, or not those of the partition columns",
    effect="Readers fail on the table, or read NULL in the partition columns of the file, and filters miss its rows.",
    remedy="RESTORE the table to the version before, write the data again, and update the engine that wrote the "
    "commit.",
    source="PROTOCOL.md, Add File and Remove File",
    follows_from=causes(
        metadata.PARTITIONING_CHANGED,
        ILLEGAL_MODE_CHANGE,
        UNKNOWN_MODE,
        metadata.FIELD_MISSING,
        later=True,
    ),
    about_live_files=True,
)
ROWS_NOT_KEPT = _pair.error(
    9,
    "rows lost or added by a commit that changes no data",
    effect="Rows vanished or appeared that nobody deleted or inserted, and readers that follow the table never learn "
    "of it.",
    remedy="RESTORE the table to the version before, and update the engine that wrote the commit.",
    source="PROTOCOL.md, Add File and Remove File",
    follows_from=causes("AC10", later=True),
    healing=Healing(healing.until_rows_are_back, by_files=True),
    needs=(Need.FILES,),
    shows="remove",
)
WRONG_CARDINALITY = _commit.error(
    10,
    "deletion vector of a file whose number of rows is not said, or smaller",
    effect="Engines that count by statistics answer wrongly, and strict ones refuse the table.",
    remedy="RESTORE the table to the version before, write the change again, and update the engine that wrote the "
    "commit.",
    source="PROTOCOL.md, Writer Requirement for Deletion Vectors",
    healing=Healing(healing.until_another_vector, healing.vectors_now, needs_details=True, by_files=True),
    about_live_files=True,
)
NO_ENABLEMENT = _pair.error(
    11,
    "in-commit timestamps enabled, but not said since when",
    effect="Readers that look for a version by its time take file times for commit times, or fail.",
    remedy="Set delta.inCommitTimestampEnablementVersion and -Timestamp to version and inCommitTimestamp of the commit "
    "that enabled them, by enabling them anew with an up-to-date engine.",
    source=_TIMESTAMPS,
    healing=Healing(healing.until_enablement_is_right, healing.enablement_due, needs_details=True),
    needs=(Need.STATE,),
    shows="metaData",
)
WRONG_PARTITION_VALUE = _commit.error(
    12,
    "partition value that is none of the column's type",
    effect="Reading the file fails, or the column reads NULL in it.",
    remedy="RESTORE the table to the version before, write the data again, and update the engine that wrote the "
    "commit.",
    source="PROTOCOL.md, Partition Value Serialization",
)
VECTOR_NOT_ENABLED = _pair.error(
    13,
    "deletion vector written while they are not enabled",
    effect="The table has deletion vectors again that its owner has turned off, and with them the readers that do not "
    "know them stay locked out.",
    remedy="REORG TABLE … APPLY (PURGE) takes it away; update the engine that wrote the commit.",
    source="PROTOCOL.md, Deletion Vectors",
    healing=Healing(healing.until_vector_is_wanted, by_files=True),
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
    about_live_files=True,
)
REMOVED_NOT_LIVE = _pair.warning(
    14,
    "file removed that is not there",
    effect="What was to be removed may still be read: rows twice, or rows that were deleted.",
    remedy="Compare the table with its version before; if rows are there twice or deleted ones came back, RESTORE that "
    "version and write the change again.",
    source="PROTOCOL.md, Action Reconciliation",
    follows_from=causes(log.TWO_DELETION_VECTORS),
    healing=Healing(healing.until_all_is_replaced, by_restore=True),
    needs=(Need.FILES, Need.VERSIONS),
    shows="remove",
)
FILE_OVERWRITTEN = _pair.error(
    15,
    "live file added again with another size",
    effect="The file was overwritten, or is not what one of the two commits says: readers fail, or read other rows.",
    remedy="RESTORE the table to a version before the file was added, and find the writer that uses a name twice.",
    source="PROTOCOL.md, Delta Data Files",
    healing=Healing(healing.until_size_is_right, healing.size_before, needs_details=True, by_files=True),
    needs=(Need.FILES,),
    about_live_files=True,
)
WRONG_FIELD = _commit.error(
    16,
    "field of an action missing, or of another type",
    effect="Strict readers fail on the table; others take the field for false or 0, so that streams leave out files.",
    remedy="RESTORE the table to the version before, write the change again, and update the engine that wrote the "
    "commit.",
    source="PROTOCOL.md, Actions",
    shows=OF_SUBJECT,
)
OF_CHECKPOINTS = _commit.warning(
    17,
    "action that only checkpoints may have",
    effect="Readers leave it out, or refuse the commit.",
    remedy="Update the engine that wrote the commit.",
    source="PROTOCOL.md, Action Reconciliation",
    shows=OF_SUBJECT,
)
