"""Dropping table features."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

from airflow.providers.common.compat.sdk import Context
from airflow.providers.standard.triggers.temporal import DateTimeTrigger
from typing_extensions import Unpack

from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.request.change_options import DropFeatureOptions
from airflow_delta_provider.operators.arguments import ChangeArguments, Document, Flag, Names
from airflow_delta_provider.operators.delta_change import DeltaChangeOperator, run_began
from airflow_delta_provider.operators.delta_job import in_order
from airflow_delta_provider.operators.finished_tables import FinishedTables, packed, unpacked
from airflow_delta_provider.operators.judgement import judge
from airflow_delta_provider.operators.reporting import Postponed

#: A trigger that fires while the worker still reports the deferral fails the task (apache/airflow#67287).
_SETTLING = timedelta(seconds=5)
#: How often a task waits: once, and again if another writer used the feature in the meantime.
_MOST_WAITS = 3


class DeltaDropFeatureOperator(DeltaChangeOperator):
    """Drop table features of Delta tables, and verify afterwards that they are gone.

    Before anything is changed, the plan says which files are rewritten, and what stays behind. Each cost of a
    drop has to be allowed by its argument; otherwise the table is refused, and the refusal says how much it
    is. A feature that a table does not have is not an error: a second run changes nothing.

    Most features that concern readers leave traces in the table's history. By default
    ``checkpointProtection`` is added to the protocol to protect it, which locks out writers that do not
    know that feature. With ``truncate_history`` the history is deleted instead, in two runs: the first one
    takes the feature out of use, and the second one drops it, once the history is old enough
    (``delta.dropFeatureTruncateHistory.retentionDuration``, by default 24 hours). With ``wait`` the
    task is deferred in between, without a worker and without Spark, until the last of its tables is
    ready; where a table was refused or failed, the task ends at once, and a later one finishes the others.
    Without ``wait``, such tables are UNDETERMINED, their ``earliest`` in the XCom says when they are ready, and any
    run after that time finishes them.

    .. seealso:: PROTOCOL.md of delta-io/delta, "Table Features" and "Checkpoint Protection"

    :param features: names of table features, for instance ``["typeWidening", "deletionVectors"]``. (templated)
    :param truncate_history: delete the history that has traces of them, instead of protecting it. (templated)
    :param wait: wait, deferred, until the history is old enough to be truncated
    :param allow_protocol_upgrade: allow ``checkpointProtection`` to be added. (templated)
    :param allow_rewrite: allow rewriting data files. (templated)
    :param acknowledge_history_loss: confirm that time travel to older versions will be lost; needed for
        ``truncate_history``. (templated)
    :param acknowledge_row_id_loss: confirm that rows will lose their ids; needed for ``rowTracking``. (templated)
    :param fleet: the engines that read and write tables, and which of them have to stay able to: a mapping, or the path
        of a YAML file, relative to the DAG's file, written so that it ends in ``.yaml`` or ``.yml``. What locks one
        of these out is refused. (templated)
    :param accept_unknown: engines of the fleet for which tables may be changed although no source says whether they
        support the result. By default such a table is UNDETERMINED, nothing is changed, and the task fails. (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_change.DeltaChangeOperator`.
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

        ``dag.test()`` passes on neither ``reports`` nor ``waits``: then all tables are looked at again.

        :param event: the trigger's: the time has come
        :param reports: of all tables, as the run before left them
        :param waits: how often the task has waited
        """
        del event
        self._waits = waits
        # What was committed before the task had to wait is part of what it changed.
        request = replace(self.request(context), retry_since=run_began(context))
        earlier = unpacked(reports) if reports else {}
        request = replace(request, tables=tuple(earlier) or request.tables)
        pending = tuple(name for name in request.tables if name not in earlier or earlier[name].earliest is not None)
        new = self._submit(context, replace(request, tables=pending))
        report = in_order(request, new, earlier)
        FinishedTables(context, request).save(report)
        return self._conclude(context, report, new)

    def _conclude(self, context: Context, report: JobReport, new: JobReport | None) -> dict[str, Any]:
        """Defer where tables have to wait; what became of the others is judged before."""
        waits = [table.earliest for table in report.tables if table.earliest is not None]
        if waits and self.wait and not self._plans_only() and self._waits < _MOST_WAITS:
            place, pushes = self._keep(context, report), Postponed(self.log)
            with pushes.step("XCom"):
                self._push(context, self._xcoms(report, place))
            done = replace(report, tables=tuple(table for table in report.tables if table.earliest is None))
            judge(done, self.on_violation, self.on_undetermined, self.log, place)
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
