"""The steps of plans: inert values that know their SQL, sentence, effects and edits.

- ``columns.py``: columns are added, dropped, renamed, widened, ordered, or get other NULLs, comments, defaults.
- ``table.py``: properties, features, comments, constraints, clustering, rewrites; several steps in one commit.
- ``provider_commits.py``: commits of this provider, for tables with usage tracking.

Imports ``step`` and ``schema`` of ``changes``, and ``domain/delta`` and ``checks``. The other modules of ``changes``,
``domain/migrations`` and ``jobs/changes`` import it.

- A new step: a subclass of ``Step`` in one of these modules, named in ``__all__`` below; a row for it in
  ``tests/unit/changes/test_steps.py``. Migrations plan it in a part: see ``domain/migrations``.
"""

from __future__ import annotations

from airflow_delta_provider.domain.changes.step import (
    Cast,
    ColumnName,
    ColumnText,
    ColumnType,
    Effects,
    NewColumn,
    Parts,
    Step,
)
from airflow_delta_provider.domain.changes.steps.columns import (
    AddColumns,
    AllowNulls,
    CommentColumns,
    DropColumns,
    ForbidNulls,
    OrderFields,
    RenameColumn,
    RenameColumns,
    SetDefaults,
    WidenColumns,
)
from airflow_delta_provider.domain.changes.steps.provider_commits import (
    Alteration,
    CreateTable,
    DisableMapping,
    MapColumns,
    TrackUsage,
)
from airflow_delta_provider.domain.changes.steps.table import (
    AddConstraint,
    ClusterBy,
    CommentTable,
    DropConstraint,
    DropFeature,
    InOneCommit,
    RewriteTable,
    RewriteWithoutMapping,
    SetProperties,
    UnsetProperties,
    each_step,
    earlier_path,
)

__all__ = [
    "AddColumns",
    "AddConstraint",
    "AllowNulls",
    "Alteration",
    "Cast",
    "ClusterBy",
    "ColumnName",
    "ColumnText",
    "ColumnType",
    "CommentColumns",
    "CommentTable",
    "CreateTable",
    "DisableMapping",
    "DropColumns",
    "DropConstraint",
    "DropFeature",
    "Effects",
    "ForbidNulls",
    "InOneCommit",
    "MapColumns",
    "NewColumn",
    "OrderFields",
    "Parts",
    "RenameColumn",
    "RenameColumns",
    "RewriteTable",
    "RewriteWithoutMapping",
    "SetDefaults",
    "SetProperties",
    "Step",
    "TrackUsage",
    "UnsetProperties",
    "WidenColumns",
    "each_step",
    "earlier_path",
]
