"""Trigger for event-driven scheduling: runs a DAG if a table changed, or if a commit broke a rule."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Hashable
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from airflow_delta_provider.configuration import Access
from airflow_delta_provider.domain.delta.table_events import (
    EventKind,
    Position,
    Progress,
    TableEvent,
    events_since,
    violation_event,
)
from airflow_delta_provider.domain.delta.table_head import NOTHING, TableHead
from airflow_delta_provider.domain.report.report import Severity, Verdict
from airflow_delta_provider.domain.text import did_you_mean, short_digest
from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.triggers.table_poll import Poll, ticks
from airflow_delta_provider.version_compat import asset_states
from airflow_delta_provider.watch.head_reader import ObjectStorageLog
from airflow_delta_provider.watch.head_watches import refuse_catalog_managed
from airflow_delta_provider.watch.health import audit
from airflow_delta_provider.watch.log_follower import Backlog
from airflow_delta_provider.watch.metadata_folder import CatalogManagedTableError, StorageAddress
from airflow_delta_provider.watch.table_watch import SharedPoll, answer_of, shared_poll

if TYPE_CHECKING:
    from airflow.triggers.shared_stream import SharedStreamProducer

_Read = TypeVar("_Read")
#: Most findings in an event.
_MOST_FINDINGS = 20
#: Seconds that a trigger waits for a read of its own while it handles a tick; the read continues meanwhile. Airflow
#: fails a trigger that needs longer for a tick than ``[triggerer] shared_stream_ack_timeout``, 300 seconds.
_PATIENCE = 60.0
#: Seconds after which a running audit is abandoned and a new one starts.
_LONGEST_AUDIT = 3600.0


class TriggerArgumentError(DeltaRequestError, TypeError):
    """A wrong argument of a trigger.

    A TypeError, because a triggerer survives no other error in ``__init__``.
    """


class DeltaTableEventTrigger(BaseEventTrigger):
    """Fires when something happens to a Delta table: for an ``AssetWatcher``, so that a DAG runs because of it.

    Reads the table's log without Spark, in threads of the triggerer. From Airflow 3.3 on, all triggers of one table,
    connection and interval share each poll, and the position is kept with the asset: a triggerer that is restarted or
    killed continues from there. Each event is delivered at least once: the position is kept only after Airflow has
    stored the event, and no later event is sent before that. A restart repeats at most the events of one poll, with the
    same ``key``. Before 3.3 each trigger polls for itself, and begins with the newest version at its start.

    The first start reports no earlier events. If storage fails, the trigger tries again with growing pauses, up to five
    minutes; no error ends the trigger.

    :param table: path or URI of the table; not a catalog name, because resolving it needs a JVM
    :param on: ``"commit"``: any commits, one event for all between two polls; ``"schema"``: commits that change schema
        or partitioning; ``"protocol"``: commits that change the protocol, one event each; ``"violation"``: commits that
        break a rule of the audit, at level ``log`` and with severity error, unless the same poll sees a commit that
        fixes it. This needs an audit of the new commits after each poll with news
    :param storage_conn_id: Airflow connection of the store; without one, credentials come from the environment
    :param poke_interval: seconds between two polls
    :raises TriggerArgumentError: for a catalog name, or a wrong argument
    """

    def __init__(
        self, table: str, on: str = "commit", storage_conn_id: str | None = None, poke_interval: float = 60.0
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow's has no types
        try:
            address = StorageAddress.of(table)
        except ValueError as error:
            raise TriggerArgumentError(str(error)) from error
        kinds = [kind.value for kind in EventKind]
        if on not in kinds:
            hint = did_you_mean(on, kinds) if isinstance(on, str) else ""
            raise TriggerArgumentError(f"on is {on!r}; it is one of {', '.join(map(repr, kinds))}.{hint}")
        if isinstance(poke_interval, bool) or not isinstance(poke_interval, int | float) or not poke_interval > 0:
            raise TriggerArgumentError(f"poke_interval is {poke_interval!r}; give seconds, above 0.")
        self.table = table
        self.on = on
        self.storage_conn_id = storage_conn_id
        self.poke_interval = poke_interval
        self._kind = EventKind(on)
        self._state_key = f"delta_provider.{on}.{short_digest(address.url)}"
        self._position: Position | None = None
        self._kept: Position | None = None
        #: The last poll with news. ``_ends`` has the last versions of events that may not have been stored, including
        #: events from before a restart.
        self._sent: Poll | None = None
        self._ends: list[int] = []
        self._head: TableHead | None = None
        self._history: int | None = None
        self._poll: tuple[Hashable, SharedPoll[Any]] | None = None
        self._begun = 0.0
        self._under_audit: tuple[Position, Progress] | None = None
        self._last_message = ""

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class path and the arguments of ``__init__``."""
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "table": self.table,
                "on": self.on,
                "storage_conn_id": self.storage_conn_id,
                "poke_interval": self.poke_interval,
            },
        )

    def shared_stream_key(self) -> Hashable | None:
        """Return the key that is common to all triggers that share a poll."""
        return "delta-table", self._table_log().key, float(self.poke_interval)

    @classmethod
    def create_shared_stream_producer(cls, kwargs: dict[str, Any]) -> SharedStreamProducer:
        """Return the producer that polls for all these triggers.

        Airflow notifies it when it has stored events.
        """
        from airflow_delta_provider.triggers.table_poll_producer import TablePollProducer

        return TablePollProducer(kwargs["table"], kwargs["storage_conn_id"], kwargs["poke_interval"])

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yield events from polls of its own, for an Airflow without shared streams."""

        async def settled() -> AsyncIterator[Poll]:
            async for tick in ticks(self.table, self.storage_conn_id, self.poke_interval):
                yield tick
                await tick.settle()  # Airflow has consumed its events

        async for event in self.filter_shared_stream(settled()):
            yield event

    async def filter_shared_stream(self, shared_stream: AsyncIterator[Poll]) -> AsyncIterator[TriggerEvent]:
        """Yield this trigger's events from polls."""
        await self._check_access()
        await self._load()
        async for tick in shared_stream:
            if self._sent is not None and not self._sent.over:
                continue  # a later poll includes the news of this one
            behind = True
            while behind:
                try:
                    events, position, head = await self._news(tick)
                except CatalogManagedTableError as error:
                    self._say("error", str(error))
                    break
                except Exception as error:
                    self._say("warning", f"Reading the log of {self.table} failed, and is tried again. {error!r}")
                    break
                if events:
                    await self._announce(position)
                for event in events:
                    yield TriggerEvent(dict(event.payload))  # type: ignore[no-untyped-call]  # Airflow's has no types
                moved = position != self._position
                self._position, self._head, self._history = position, head, tick.followed.history
                behind = moved and position.version < max((h.version for h in tick.followed.heads), default=-1)
            if self._position is not None and self._position != self._kept:
                tick.when_stored(partial(self._keep, self._position))
                self._sent = tick

    async def _news(self, tick: Poll) -> tuple[list[TableEvent], Position, TableHead | None]:
        """Return events, and the position and head after them."""
        position, heads = self._position, tick.followed.heads
        if not heads:
            self._say("info", f"There is no Delta table at {self.table} (no commit in _delta_log); waiting for it.")
            # Keep the position of a table that was removed: a new table in its place is news.
            return [], position or Position(NOTHING), self._head
        refuse_catalog_managed(self.table, heads[-1])
        if position is None:
            self._say("info", f"Watching {self.table} from version {heads[-1].version} on.")
            return [], Position.of(heads[-1]), heads[-1]
        if position.version == heads[-1].version and position.fits(heads[-1]):
            return [], position, heads[-1]
        progress = await self._progress(tick, position)
        if progress is None:
            return [], position, self._head
        following = next((version for version in self._ends if version > position.version), None)
        if following is not None:
            progress = progress.until(following)
        newest = progress.newest
        if newest.version == position.version and not progress.recreated:
            return [], position, newest
        if progress.recreated:
            self._say(
                "warning",
                f"{self.table} is another table than at version {position.version}: it was created again, or replaced "
                f"from outside. Its id is {newest.metadata.id}, and was {position.mark.table_id}.",
            )
        if progress.gap:
            self._say("warning", f"Commits of {self.table} after version {position.version} were cleaned up unseen.")
        if self._kind is EventKind.VIOLATION:
            progress = self._to_audit(position, progress)
            return await self._violations(position, progress), Position.of(progress.newest), progress.newest
        events = list(events_since(self._kind, self.table, position, progress, self._head))
        return events, Position.of(newest), newest

    async def _progress(self, tick: Poll, position: Position) -> Progress | None:
        """Return the commits since the position, from the poll or else from the log."""
        heads = tick.followed.heads
        if tick.followed.history == self._history:
            for index, head in enumerate(heads):
                if head.version == position.version:
                    return Progress(heads[index:])
        log, known = self._table_log(), self._head
        key = (Backlog, log.key, position.version, position.commit, tick.followed.history)
        return await self._read(key, lambda: Backlog(log, position, known).read)

    def _to_audit(self, position: Position, progress: Progress) -> Progress:
        """Return the commits to audit: the range under audit since an earlier poll, or else the new commits."""
        under_audit = self._under_audit
        if under_audit is None or under_audit[0] != position or progress.recreated:
            self._under_audit = under_audit = position, progress
        return under_audit[1]

    async def _violations(self, position: Position, progress: Progress) -> list[TableEvent]:
        """Return the event for the rules that were broken by commits since the position."""
        table, conn_id, until = self.table, self.storage_conn_id, progress.newest.version
        since = None if progress.recreated or position.version < 0 else position.version

        def audited() -> list[dict[str, Any]]:
            report = audit(table, conn_id, since_version=since, version=until)
            if report.verdict is Verdict.REFUSED:
                raise OSError("; ".join(finding.message for finding in report.findings))
            found = [f for f in report.findings if f.is_open and f.severity is Severity.ERROR]
            new = [f for f in found if since is None or (f.version is not None and f.version > since)]
            new.sort(key=lambda finding: finding.version or 0)
            return [finding.to_json() for finding in new[:_MOST_FINDINGS]]

        key = ("audit", self._table_log().key, since, until, progress.newest.metadata.id)
        try:
            found = await self._read(key, lambda: audited)
        except TimeoutError:
            raise
        except Exception:
            self._under_audit = None  # a retry may never succeed: its versions may have been removed
            raise
        self._under_audit = None
        return [violation_event(self.table, position, progress, found)] if found else []

    async def _read(self, key: Hashable, new_reader: Callable[[], Callable[[], _Read]]) -> _Read:
        """Read something in a thread, shared with other triggers that read the same.

        :raises TimeoutError: if it takes long; the read continues, and the next call gets its result
        """
        if self._poll is None or self._poll[0] != key:
            self._poll = key, shared_poll(key, new_reader, _LONGEST_AUDIT)
            self._begun = time.monotonic()
        poll: Future[_Read] = self._poll[1].begin(self._begun)
        try:
            return await answer_of(poll, _PATIENCE)
        finally:
            if poll.done():
                self._poll = None

    async def _check_access(self) -> None:
        """Wait forever if the table must not be read: Airflow would restart an ended trigger at once."""
        table = self.table

        def check() -> None:
            Access.of({}).check_table(table, read_here=True)  # follows links, which is slow on a mount that hangs

        while True:
            try:
                return await self._read(("access", table), lambda: check)
            except DeltaRequestError as error:
                self.log.error("%s", error)
                await asyncio.Event().wait()
            except Exception as error:
                self._say("warning", f"Whether {table} may be read is not known yet. {error!r}")
                await asyncio.sleep(1)

    async def _load(self) -> None:
        """Read the stored position, and retry until there is an answer."""
        pause = 1.0
        while True:
            try:
                for store in asset_states(self):
                    if (kept := await store.aget(self._state_key)) is not None:
                        self._position = self._kept = Position.from_json(kept)
                        self._ends = list(kept.get("sent") or ())
                        self.log.info("Watching %s on from version %d.", self.table, self._position.version)
                        return
                return
            except ValueError as error:
                self.log.error("The stored state of %s cannot be used; a new one begins: %s", self.table, error)
                return
            except Exception as error:
                self.log.warning("The stored state of %s cannot be read; trying again. %r", self.table, error)
                await asyncio.sleep(pause)
                pause = min(30.0, pause * 2)

    async def _announce(self, position: Position) -> None:
        """Store the last version of the next events, so that a restart can send the same events again."""
        if self._kept is None:
            return
        if position.version not in self._ends:
            self._ends.append(position.version)
        try:
            for store in asset_states(self):
                await store.aset(self._state_key, {**self._kept.to_json(), "sent": self._ends})
        except Exception as error:
            self._say("warning", f"After a restart, events of {self.table} may cover other versions. {error!r}")

    async def _keep(self, position: Position) -> None:
        for store in asset_states(self):
            await store.aset(self._state_key, position.to_json())
        self._kept, self._ends = position, []

    def _table_log(self) -> ObjectStorageLog:
        return ObjectStorageLog(self.table, self.storage_conn_id)

    def _say(self, level: str, text: str) -> None:
        if text != self._last_message:
            getattr(self.log, level)(text)
            self._last_message = text
