"""Operator that drops table features."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

from airflow.providers.common.compat.sdk import Context
from airflow.providers.standard.triggers.temporal import DateTimeTrigger
from typing_extensions import Unpack

from airflow_delta_provider.domain.report.report import JobReport
from airflow_delta_provider.domain.request.change_options import DropFeatureOptions
from airflow_delta_provider.operators.arguments import ChangeArguments, Document, Flag, Names
from airflow_delta_provider.operators.delta_job import in_order
from airflow_delta_provider.operators.delta_task import DeltaChangeOperator, run_began
from airflow_delta_provider.operators.durable import FinishedTables, packed, unpacked
from airflow_delta_provider.operators.reporting import DeferredErrors, raise_for_verdict

#: A trigger that fires while the worker still reports the deferral fails the task (apache/airflow#67287).
_SETTLING = timedelta(seconds=5)
#: Most waits of a task: one, and more if another writer used the feature in the meantime.
_MOST_WAITS = 3


class DeltaDropFeatureOperator(DeltaChangeOperator):
    """Drop table features of Delta tables, and verify afterwards that they are removed.

    Before anything is changed, the plan lists the files to rewrite and the traces that remain. Each cost of a drop must
    be allowed by its argument. Otherwise the table is refused, and the refusal states the size of the cost. A feature
    that a table does not have is not an error: a second run changes nothing.

    Most features that concern readers leave traces in the table's history. By default ``checkpointProtection`` is added
    to the protocol to protect it, which locks out writers that do not support that feature. With ``truncate_history``
    the history is deleted instead, in two runs: the first one stops using the feature, and the second one drops it,
    once the history is old enough (``delta.dropFeatureTruncateHistory.retentionDuration``, by default 24 hours). With
    ``wait`` the task is deferred in between, without a worker and without Spark, until the last of its tables is ready.
    If a table was refused or failed, the task ends at once, and a later task finishes the others. Without ``wait``,
    such tables are UNDETERMINED, and their ``earliest`` in the XCom is the time when they are ready. Any run after that
    time finishes them.

    .. seealso:: PROTOCOL.md of delta-io/delta, "Table Features" and "Checkpoint Protection"

    :param features: names of table features, for instance ``["typeWidening", "deletionVectors"]``. (templated)
    :param truncate_history: True to delete the history that has traces of the features, instead of protecting it.
        (templated)
    :param wait: True to wait, deferred, until the history is old enough to be truncated
    :param allow_protocol_upgrade: permission to add ``checkpointProtection``. (templated)
    :param allow_rewrite: permission to rewrite data files. (templated)
    :param acknowledge_history_loss: confirmation that time travel to older versions will be lost; needed for
        ``truncate_history``. (templated)
    :param acknowledge_row_id_loss: confirmation that rows will lose their ids; needed for ``rowTracking``. (templated)
    :param fleet: engines that read and write the tables, and which of them must keep their access: a mapping, or the
        path of a YAML file relative to the DAG's file. The path, as written in the DAG, must end in ``.yaml`` or
        ``.yml``. A change that locks out one of these engines is refused. (templated)
    :param accept_unknown: engines of the fleet that do not block a change although no source says whether they support
        the result. Any other such engine makes the table UNDETERMINED: it is not changed, and the task fails.
        (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_task.DeltaChangeOperator`.
    """

    options_type = DropFeatureOptions

    def __init__(
        self,
        *,
        features: Names,
        truncate_history: Flag = False,
        wait: bool = True,
        allow_protocol_upgrade: Flag = False,
        allow_rewrite: Flag = False,
        acknowledge_history_loss: Flag = False,
        acknowledge_row_id_loss: Flag = False,
        fleet: Document = None,
        accept_unknown: Names = (),
        **kwargs: Unpack[ChangeArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.features = features
        self.truncate_history = truncate_history
        self.wait = wait
        self.allow_protocol_upgrade = allow_protocol_upgrade
        self.allow_rewrite = allow_rewrite
        self.acknowledge_history_loss = acknowledge_history_loss
        self.acknowledge_row_id_loss = acknowledge_row_id_loss
        self.fleet = fleet
        self.accept_unknown = accept_unknown
        self._waits = 0
        self.check_literals()

    def execute_complete(
        self, context: Context, event: Any = None, reports: str | None = None, waits: int = _MOST_WAITS
    ) -> dict[str, Any]:
        """Finish the tables that had to wait.

        ``dag.test()`` passes neither ``reports`` nor ``waits``; all tables are then processed again.

        :param event: event of the trigger; unused
        :param reports: reports of all tables from the run before the wait
        :param waits: number of times that the task has waited
        """
        del event
        self._waits = waits
        # The task's changes include its commits from before the wait.
        request = replace(self.request(context), retry_since=run_began(context))
        earlier = unpacked(reports) if reports else {}
        request = replace(request, tables=tuple(earlier) or request.tables)
        pending = tuple(name for name in request.tables if name not in earlier or earlier[name].earliest is not None)
        new = self._submit(context, replace(request, tables=pending))
        report = in_order(request, new, earlier)
        FinishedTables(context, request).save(report)
        return self._conclude(context, report, new)

    def _conclude(self, context: Context, report: JobReport, new: JobReport | None) -> dict[str, Any]:
        """Defer the task if tables have to wait, after applying the policies to the other tables."""
        waits = [table.earliest for table in report.tables if table.earliest is not None]
        if waits and self.wait and not self._plans_only() and self._waits < _MOST_WAITS:
            place, pushes = self._keep(context, report), DeferredErrors(self.log)
            with pushes.step("XCom"):
                self._push(context, self._xcoms(report, place))
            done = replace(report, tables=tuple(table for table in report.tables if table.earliest is None))
            raise_for_verdict(done, self.on_violation, self.on_undetermined, self.log, place)
            if pushes.failure is not None:
                raise pushes.failure
            moment = max(datetime.fromisoformat(max(waits)), datetime.now(timezone.utc) + _SETTLING)
            self.log.info("%d of %d tables have to wait until %s", len(waits), len(report.tables), moment)
            self.defer(
                trigger=DateTimeTrigger(moment),
                method_name="execute_complete",
                kwargs={"reports": packed(report.tables), "waits": self._waits + 1},
            )
        return super()._conclude(context, report, new)
