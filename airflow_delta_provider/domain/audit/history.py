"""The audit of a table's history: every rule of the log, commit after commit, oldest first."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from airflow_delta_provider.domain.audit.earlier_states import EarlierStates, equal_states, identity_of
from airflow_delta_provider.domain.audit.excerpt import excerpt, excerpt_of_file
from airflow_delta_provider.domain.audit.live_vectors import LiveVectors
from airflow_delta_provider.domain.audit.stands import mark_is_below, remains
from airflow_delta_provider.domain.audit.violations import Key, Stands, Violation, Violations, key_of
from airflow_delta_provider.domain.delta.commit import Action, Commit, read_actions
from airflow_delta_provider.domain.delta.feature import with_requirements
from airflow_delta_provider.domain.delta.feature_state import FeatureState
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema
from airflow_delta_provider.domain.delta.table_state import Replay, TableState
from airflow_delta_provider.domain.delta.transition import Transition, apply_commit
from airflow_delta_provider.domain.invariants import (
    added_file_names,
    catalog_managed,
    column_mapping,
    commit_actions,
    mapping_changes,
    metadata,
    metadata_changes,
    protocol,
    protocol_changes,
    type_changes,
    type_widening,
    usage_tracking,
)
from airflow_delta_provider.domain.invariants.feature_lists import has_feature
from airflow_delta_provider.domain.invariants.feature_use import used_features
from airflow_delta_provider.domain.invariants.physical_path_history import PhysicalPathHistory
from airflow_delta_provider.domain.invariants.schema import readable_columns
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity
from airflow_delta_provider.domain.row_tracking import commit_rules, history_rules, state_rules
from airflow_delta_provider.domain.row_tracking.fresh_ids import Overlap, RowCount, in_order, overlaps
from airflow_delta_provider.domain.row_tracking.stability_rules import Moves, moves_of, tracked
from airflow_delta_provider.domain.row_tracking.tracking import DOMAIN, HIGH_WATER_MARK, row_tracking_of
from airflow_delta_provider.domain.rules.catalogue import CATALOGUE
from airflow_delta_provider.domain.rules.rule import Scope

#: Rules about protocol, metadata and the domains of one state.
_STATE_RULES: tuple[Callable[[TableState], Iterator[Finding]], ...] = (
    protocol.check_state,
    metadata.check_state,
    column_mapping.check_state,
    type_widening.check_state,
    catalog_managed.check_state,
    usage_tracking.check_state,
)
#: Rules about a commit's change of protocol and metadata. They are asked again of later commits: whether
#: those, compared with the state before the damage, still break them.
_CHANGE_RULES: tuple[Callable[[Transition], Iterator[Finding]], ...] = (
    mapping_changes.check_transition,
    type_changes.check_transition,
)
#: Families whose rules about changes are asked again of later commits.
_CHANGED_KINDS = frozenset({"TF", "MD", "CM", "TW"})
#: Rules about older files: a change back to what was before a damage breaks them for what was written meanwhile.
_WRITTEN_UNDER = frozenset({"CM09", "CM11", "CM12", "MD11", "TW08", "TW09"})
#: What the first commit has to have: protocol and metadata.
_FIRST = ("TF10", "MD04")
#: Rules about files that a commit may put right which changes nothing but files.
_OF_FILES = ("AC03", "AC06", "RT14")
#: Rules about data files that are about commits, too: only the audit that judges those sees what is wrong.
_OF_COMMITS = frozenset({"RT22", "RT23"})
#: What a finding says of the commit that is to blame.
_PROVENANCE = ("version", "engine", "writer", "operation", "user", "timestamp")
#: What cannot be told of a commit that says it restores a version that is not kept.
_UNTOLD = (
    " But the commit says that it restores version {}, which is not kept any more: if the table was like this in that "
    "version, nothing is wrong. Audit the table more often than its log is cleaned up."
)


class LogMemory:
    """What the log may be asked for besides its commits in turn. By default it tells nothing."""

    def commit_at(self, version: int) -> Commit | None:
        """Return a commit, None where the log no longer has it."""
        del version
        return None

    def state_at(self, version: int) -> TableState | None:
        """Return a state with its files, None where the log no longer has it."""
        del version
        return None

    def added_before(self, version: int, paths: Sequence[str]) -> frozenset[str]:
        """Return those of ``paths`` that a commit before ``version`` added or removed."""
        del version, paths
        return frozenset()

    def commit_that_added(self, file: LiveFile) -> Commit | None:
        """Return the oldest kept commit that added a file with the row ids that it has, None if none is kept."""
        del file
        return None

    def commits_that_added(self, files: Sequence[LiveFile]) -> Mapping[str, Commit]:
        """Return the same for many files, by path, as far as such commits are kept."""
        found = {file.path: self.commit_that_added(file) for file in files}
        return {path: commit for path, commit in found.items() if commit is not None}


class HistoryAudit:
    """Judges commits, oldest first, on the state that they lead to.

    :param replay: holds the state before the first of them; empty for the whole history
    :param base: that state; None for the whole history
    :param log: where the commits come from
    :param known: whether what is wrong with ``base`` itself is left out
    :param recalled: what an earlier audit, up to ``base``, found to stand
    :param previous: the commit of ``base``, as far as it is known
    :param follow: takes what each commit did to rows whose ids may be relied upon
    """

    def __init__(
        self,
        replay: Replay,
        base: TableState | None = None,
        log: LogMemory | None = None,
        *,
        known: bool = False,
        recalled: Sequence[Finding] = (),
        previous: Commit | None = None,
        follow: Callable[[Moves], None] | None = None,
    ) -> None:
        self._replay = replay
        self._log = log or LogMemory()
        self._from_start = base is None
        self._knows_files = base is None or base.files is not None
        self._violations = Violations()
        self._states = EarlierStates()
        self._vectors = LiveVectors()
        self._paths = PhysicalPathHistory()
        self._removed: set[int] = set()
        self._remembers_removed = False
        self._used: set[str] = set()
        self._previous = previous
        self._ever_dropped = False
        self._mark: int | None = None
        self._lowered: Commit | None = None
        self._written: set[str] = set()
        self._version = -1 if base is None else base.version
        self._bytes = 0
        self._since = base.version if known and base is not None else None
        self._follow = follow
        self._of_files: dict[Key, Finding] = {}
        self._rows_of: RowCount = _said_rows
        if base is not None:
            for finding in recalled:
                self._recall(finding, base)
            if self._previous is None:
                self._previous = self._log.commit_at(base.version)
            self._begin(base)
            if known:
                self._violations.forget()

    @property
    def version(self) -> int:
        """The version that was judged last; -1 for none."""
        return self._version

    @property
    def is_readable(self) -> bool:
        """Whether there is a state: the table has protocol and metadata."""
        return self._replay.is_complete

    @property
    def commit_info(self) -> Mapping[str, Any]:
        """The ``commitInfo`` of the commit that was judged last."""
        return {} if self._previous is None else self._previous.info

    @property
    def live_files(self) -> int | None:
        """Number of live files; None where those of before the first commit are not known."""
        return len(self._replay.files) if self._knows_files else None

    @property
    def live_bytes(self) -> int | None:
        """Size of all live files; None where those of before the first commit are not known."""
        return self._bytes if self._knows_files else None

    def state(self) -> TableState:
        """Return the state that was judged last, with its files.

        :raises BrokenLogError: if there was no protocol or no metaData action so far
        """
        return self._replay.state(self._version)

    def take(self, version: int, actions: Sequence[Action]) -> None:
        """Judge a commit.

        :raises BrokenLogError: if one of its actions is malformed; it is not taken then
        """
        values = list(read_actions(actions, where=f" of version {version}"))
        commit = Commit.of(version, values)
        self._version = version
        if self._replay.is_complete:
            self._judge(apply_commit(self._replay, commit, values), actions)
        else:
            self._take_first(commit, values, actions)
        self._previous = commit

    def resume(self, replay: Replay, base: TableState) -> None:
        """Go on from a checkpoint, behind a commit that cannot be read.

        :param replay: holds the state
        """
        self._replay = replay
        self._from_start = False
        self._knows_files = base.files is not None
        self._previous = None
        self._version = base.version
        self._begin(base)

    def note(self, finding: Finding) -> None:
        """Take a finding that does not come from the commits themselves."""
        self._violations.open(finding)

    def findings(self) -> list[Finding]:
        """Return everything that is, or was, wrong: what stands first."""
        if self._version < 0:
            return self._violations.findings("")
        try:
            state = self.state()
        except BrokenLogError:
            missing = [
                finding
                for finding, found in (
                    (protocol.no_protocol(self._version), self._replay.has_protocol),
                    (metadata.no_metadata(self._version), self._replay.has_metadata),
                )
                if not found and self._version >= 0
            ]
            for finding in missing:
                self._violations.look(finding.code, self._version, [finding])
            return self._violations.findings("")
        for finding in self._of_commits(self._final(state)):
            self._violations.open(finding)
        return self._violations.findings(state.metadata.id)

    def look_at_files(self, found: Iterable[Finding], rows_of: RowCount) -> None:
        """Take all that is wrong with the live files themselves, after the last commit; what was is not recalled.

        :param rows_of: the number of rows of each, which decides from now on what row ids they give out
        :raises BrokenLogError: if there is no state
        """
        state = self.state()
        self._rows_of = rows_of
        fresh = list(state_rules.check_fresh_ids(state, row_tracking_of(state), rows_of))
        miscounted = {file.path for file in self._replay.files.values() if file.num_records != rows_of(file)}
        for code, paths in (("RT06", None), ("RT07", miscounted), ("RT08", None)):
            if all(finding.code != code for finding in fresh):
                self._violations.withdraw(code, paths)
        impossible = [finding for finding in fresh if CATALOGUE[finding.code].scope is Scope.DATA]
        for code, path, *_ in self._of_files:
            self._violations.withdraw(code, {path})
        for finding in self._of_commits([*found, *impossible]):
            self._violations.open(finding)

    def _of_commits(self, found: Iterable[Finding]) -> Iterator[Finding]:
        """Yield findings about live files with the commits that added those, but for what is not asked for."""
        found = list(found)
        paths = {finding.path for finding in found if finding.version is None}
        files = {file.path: file for file in self._replay.files.values() if file.path in paths}
        commits = self._log.commits_that_added(list(files.values())) if files else {}
        for finding in found:
            if finding.version is not None:
                yield finding
                continue
            file, commit = files.get(finding.path or ""), commits.get(finding.path or "")
            if finding.code == "RT07" and self._lowered is not None:
                commit = max((commit or self._lowered, self._lowered), key=lambda either: either.version)
            if self._since is not None and (commit is None or commit.version <= self._since):
                continue  # of a file from before: not what is asked for
            if file is not None:
                finding = replace(finding, action=excerpt_of_file(file))
            if commit is not None:
                finding = replace(finding, **commit.provenance)
            elif (known := self._of_files.get(key_of(finding))) is not None:
                finding = replace(finding, **{name: getattr(known, name) for name in _PROVENANCE})
            yield finding

    def _recall(self, finding: Finding, base: TableState) -> None:
        rule = CATALOGUE.get(finding.code)
        aspect: str | None = None
        stands: Stands | None = None
        if rule is not None and finding.path is None:
            if rule.scope is Scope.STATE:
                aspect = "row tracking" if finding.code.startswith("RT") else "head"
            elif finding.code == "CM16":
                stands = _same_path(finding, base)
            elif finding.code[:2] in _CHANGED_KINDS:
                stands = self._remembered(finding)
        if rule is not None and rule.scope is Scope.DATA and finding.code not in _OF_COMMITS:
            self._of_files[key_of(finding)] = finding
        self._violations.recall(finding, aspect, stands)

    def _remembered(self, finding: Finding) -> Stands:
        """Return what tells whether a change of long ago is still wrong, as far as the log has the state before it."""
        known: list[Stands] = []

        def stands(later: Transition) -> bool:
            if not known:
                before = None if finding.version is None else self._log.state_at(finding.version - 1)
                rules = [
                    *_CHANGE_RULES,
                    lambda change: protocol_changes.check_transition(change, frozenset(self._used)),
                ]
                known.extend([] if before is None else [_compared(rule, finding, before) for rule in rules])
            return not known or any(still(later) for still in known)

        return stands

    def _begin(self, state: TableState) -> None:
        self._bytes = sum(file.size for file in self._replay.files.values())
        self._states.begin(state)
        self._vectors.begin((state.files or {}).values())
        self._used |= used_features(state)
        self._mark = row_tracking_of(state).high_water_mark
        self._look(state, {"at_or_before": True, "version": state.version}, ())

    def _take_first(self, commit: Commit, values: list[tuple[str, Any]], actions: Sequence[Action]) -> None:
        """Take the commit that creates the table, or one before the table has protocol and metadata."""
        self._replay.apply(values)
        found = list(commit_actions.check_commit(commit))
        if commit.version == 0:
            found += [*protocol_changes.check_first(commit), *metadata_changes.check_first(commit)]
        for finding in found:
            if finding.code in _FIRST:
                self._violations.look(finding.code, commit.version, [self._placed(finding, {}, actions)])
            else:
                self._open(finding, actions)
        for code, is_there in zip(_FIRST, (self._replay.has_protocol, self._replay.has_metadata)):
            if is_there:
                self._violations.look(code, commit.version, ())
        if not self._replay.is_complete:
            return
        state = self.state()
        self._bytes = sum(file.size for file in self._replay.files.values())
        self._states.begin(state)
        self._vectors.begin((state.files or {}).values())
        self._used |= used_features(state)
        self._mark = row_tracking_of(state).high_water_mark
        self._look(state, commit.provenance, actions)
        self._check_names(commit, actions, state, frozenset())

    def _judge(self, transition: Transition, actions: Sequence[Action]) -> None:
        commit = transition.commit
        restores = self._states.take(transition)
        exactly = (self._states.had_protocol, self._states.had_identity)
        head = bool(commit.protocols or commit.metadata)
        untold: int | None = None
        healed: list[Violation] = []
        if head:
            if not restores:
                then, untold = self._restored(transition)
                restores = then is not None
                if then is not None:
                    same_protocol = then.protocol == transition.after.protocol
                    exactly = (same_protocol, identity_of(then.metadata) == identity_of(transition.after.metadata))
            transition = replace(transition, restores=restores)
        if head or commit.domains or commit.transactions or any(map(self._violations.stands, _OF_FILES)):
            healed += self._violations.look_again(transition)
        again = self._follow_files(transition)
        if head or any(domain.domain != DOMAIN for domain in commit.domains):
            healed += self._look(transition.after, commit.provenance, actions, transition.before)
        elif commit.domains:
            healed += self._look_at_tracking(transition.after, commit.provenance, actions, transition.before)
        if head:
            self._check_change(transition, actions, healed, untold, exactly)
            self._check_enabled(transition, actions)
        for finding in commit_actions.check_transition(transition, self._previous):
            self._open(finding, actions, remains(finding, transition))
        for finding in commit_actions.check_live_vectors(
            transition, self._vectors.take(transition, self._replay.files)
        ):
            self._open(finding, actions)
        self._check_tracking(transition, actions, again, healed)
        self._check_names(commit, actions, transition.after, transition.before_files.keys() | again)
        if self._violations.has_changes:
            self._written.update(file.path for file in transition.new_files)
        else:
            self._written.clear()

    def _follow_files(self, transition: Transition) -> frozenset[str]:
        """Note which files went, and return those that are added again after they had gone."""
        self._bytes += sum(file.size for file in {file.key: file for file in transition.commit.adds}.values())
        self._bytes -= sum(file.size for file in transition.before_files.values())
        added = {file.path for file in transition.commit.adds}
        gone = [path for path in transition.removed_files if path not in added]
        if self._violations.has_files:
            self._violations.gone(gone, transition.commit.version)
        self._written.difference_update(gone)
        # Files that were written mapped or tracked may come back long after both were given up.
        if not (self._remembers_removed or _remembers(transition.before) or _remembers(transition.after)):
            return frozenset()
        self._remembers_removed = True
        again = frozenset(path for path in added if hash(path) in self._removed)
        self._removed.update(map(hash, gone))
        return again

    def _check_change(
        self,
        transition: Transition,
        actions: Sequence[Action],
        healed: Sequence[Violation],
        untold: int | None,
        exactly: tuple[bool, bool],
    ) -> None:
        """Judge what a commit does to protocol and metadata.

        :param untold: the version that it says it restores, where nobody knows that
        :param exactly: where it restores an earlier version, whether with its protocol, and with the table's identity
        :param healed: what it puts right: a change away from a damage, back to what was before, is none itself
        """
        before, used = transition.before, frozenset(self._used)
        self._ever_dropped = not transition.replaces_all and (self._ever_dropped or usage_tracking.is_true(before))
        dropped = self._ever_dropped

        def check_protocol(later: Transition) -> Iterator[Finding]:
            return protocol_changes.check_transition(replace(later, restores=later.restores and exactly[0]), used)

        def check_metadata(later: Transition) -> Iterator[Finding]:
            return metadata_changes.check_transition(replace(later, restores=later.restores and exactly[1]))

        def check_usage(later: Transition) -> Iterator[Finding]:
            return usage_tracking.check_transition(later, dropped)

        rules = (*_CHANGE_RULES, check_metadata, check_protocol, check_usage)
        found = [(finding, _compared(rule, finding, before)) for rule in rules for finding in rule(transition)]
        sound = _sound_before(healed)
        if found and sound is not None:
            direct = replace(transition, before=sound)
            still = {key_of(finding) for rule in rules for finding in rule(direct)}
            found = [
                (finding, stands)
                for finding, stands in found
                if key_of(finding) in still or (self._written and finding.code in _WRITTEN_UNDER)
            ]
        for finding in self._paths.take(transition):
            found.append((finding, _same_path(finding, transition.after)))
        for finding, stands in found:
            if untold is not None and finding.severity is Severity.ERROR:
                message = finding.message + _UNTOLD.format(untold)
                finding = replace(finding, severity=Severity.UNDECIDED, message=message)
            self._open(finding, actions, stands, before)
        self._used |= used_features(transition.after)

    def _check_enabled(self, transition: Transition, actions: Sequence[Action]) -> None:
        """Look at all files where a commit enables row tracking."""
        tracking = row_tracking_of(transition.after)
        if tracking.relied_upon and not row_tracking_of(transition.before).relied_upon:
            state = replace(transition.after, files=self._replay.files)
            for finding in state_rules.check_files(state, tracking):
                self._violations.open(self._placed(finding, transition.commit.provenance, actions))

    def _check_tracking(
        self, transition: Transition, actions: Sequence[Action], again: frozenset[str], healed: Sequence[Violation]
    ) -> None:
        commit, tracking = transition.commit, row_tracking_of(transition.after)
        if not (commit.adds or commit.removes or commit.domains or commit.metadata):
            return
        if tracking.state is FeatureState.ABSENT:
            self._mark = None
            return
        if self._mark is not None and row_tracking_of(transition.before).high_water_mark is None:
            # The mark was lost, not what had been given out before.
            lost = {**transition.before.domains, DOMAIN: json.dumps({HIGH_WATER_MARK: self._mark})}
            transition = replace(transition, before=replace(transition.before, domains=lost))
        mark = tracking.high_water_mark
        if self._mark is not None and commit.domains and (mark is None or mark < self._mark):
            self._lowered = commit
        self._mark = self._mark if mark is None else mark
        suspicious = commit_rules.suspicious_paths(transition)
        earlier = again & frozenset(suspicious)
        if len(earlier) < len(suspicious) and not self._from_start:
            earlier |= self._log.added_before(transition.commit.version, suspicious)
        if self._follow is not None and tracked(transition):
            unplaced = () if self._from_start else [path for path in suspicious if path not in earlier]
            self._follow(moves_of(transition, earlier, unplaced))
        for finding in (*commit_rules.check_transition(transition, earlier), *history_rules.check_history(transition)):
            if finding.code == "RT17" and _has_names_of(_sound_before(healed), transition.after):
                continue
            if key_of(finding) not in {key_of(violation.finding) for violation in healed}:
                self._open(finding, actions, remains(finding, transition))

    def _check_names(
        self, commit: Commit, actions: Sequence[Action], state: TableState, old: frozenset[str] | set[str]
    ) -> None:
        """Check under which names added files are described, where the table is mapped."""
        if not _is_mapped(state):
            return
        for action in actions:
            add = action.get("add")
            if add:
                current = add["path"] not in old and ":" not in add["path"]
                found = list(added_file_names.check_added_file(add, state.metadata, current=current))
                if found and current and not self._from_start and self._log.added_before(state.version, [add["path"]]):
                    found = list(added_file_names.check_added_file(add, state.metadata))
                for finding in found:
                    self._violations.open(self._placed(finding, commit.provenance, actions))

    def _look(
        self,
        state: TableState,
        where: dict[str, Any],
        actions: Sequence[Action],
        before: TableState | None = None,
    ) -> list[Violation]:
        """Judge protocol, metadata and domains of a state; return what is healed in it."""
        found = [self._placed(finding, where, actions) for rule in _STATE_RULES for finding in rule(state)]
        healed = self._violations.look("head", state.version, found, before)
        return healed + self._look_at_tracking(state, where, actions, before)

    def _look_at_tracking(
        self,
        state: TableState,
        where: dict[str, Any],
        actions: Sequence[Action],
        before: TableState | None = None,
    ) -> list[Violation]:
        state = replace(state, files=self._replay.files)
        rules = state_rules.check_head(state, row_tracking_of(state)) if readable_columns(state.metadata) else ()
        found = [self._placed(finding, where, actions) for finding in rules]
        if before is not None and self._mark is not None:
            # Once the mark was lost, any mark will not do.
            for finding in (finding for finding in found if finding.code == "RT10"):
                self._violations.open(finding, mark_is_below(self._mark))
            found = [finding for finding in found if finding.code != "RT10"]
        return self._violations.look("row tracking", state.version, found, before)

    def _final(self, state: TableState) -> Iterator[Finding]:
        """Yield what is wrong with the files of the last state, unless the history has shown it already."""
        tracking = row_tracking_of(state)
        if tracking.state is FeatureState.ABSENT:
            return
        yield from (f for f in state_rules.check_files(state, tracking) if not self._violations.stands(f.code))
        pairs: dict[str, Overlap] = {}
        for finding in state_rules.check_fresh_ids(state, tracking, self._rows_of):
            if finding.code != "RT08":
                if not self._violations.stands(finding.code):
                    yield finding
                continue
            pairs = pairs or {
                pair.other.path: pair for pair in overlaps(in_order(self._replay.files.values()), self._rows_of)
            }
            if finding.path is None:
                self._violations.count("RT08", len(pairs) - state_rules.MOST_FINDINGS)
                continue
            pair = pairs[finding.path]
            commits = self._log.commits_that_added([pair.one, pair.other])
            versions = {path: commit.version for path, commit in commits.items()}
            yield replace(finding, path=max((pair.one.path, pair.other.path), key=lambda path: versions.get(path, -1)))

    def _restored(self, transition: Transition) -> tuple[TableState | None, int | None]:
        """Return the version from before the first one judged that a commit restores; or, if nobody knows, which."""
        parameters = transition.commit.info.get("operationParameters")
        if self._from_start or transition.commit.operation != "RESTORE" or not isinstance(parameters, dict):
            return None, None
        if transition.before.metadata == transition.after.metadata and not transition.before_files:
            return None, None  # it changes nothing, or the protocol only, which is not restored
        try:
            version = int(str(parameters.get("version")))
        except ValueError:
            return None, None
        then = self._log.state_at(version)
        if then is None:
            return None, version
        same = equal_states(then, replace(transition.after, files=self._replay.files))
        return then if same else None, None

    def _open(
        self,
        finding: Finding,
        actions: Sequence[Action],
        stands: Stands | None = None,
        before: TableState | None = None,
    ) -> None:
        self._violations.open(replace(finding, action=excerpt(finding, actions)), stands, before)

    def _placed(self, finding: Finding, where: dict[str, Any], actions: Sequence[Action]) -> Finding:
        return replace(finding, action=excerpt(finding, actions), **where)


def _sound_before(healed: Sequence[Violation]) -> TableState | None:
    """Return the state before the oldest of those violations: what a commit leads back to that heals them."""
    states = [violation.before for violation in healed if violation.before is not None]
    return min(states, key=lambda state: state.version, default=None)


def _has_names_of(state: TableState | None, after: TableState) -> bool:
    if state is None:
        return False
    one, other = row_tracking_of(state), row_tracking_of(after)
    return (one.row_id_column, one.commit_version_column) == (other.row_id_column, other.commit_version_column)


def _said_rows(file: LiveFile) -> int | None:
    return file.num_records


def _is_mapped(state: TableState) -> bool:
    return state.metadata.configuration.get("delta.columnMapping.mode", "none") != "none"


def _remembers(state: TableState) -> bool:
    """Whether it matters of an added file that it was live before."""
    return _is_mapped(state) or row_tracking_of(state).state is not FeatureState.ABSENT


def _compared(
    rule: Callable[[Transition], Iterator[Finding]], finding: Finding, before: TableState
) -> Callable[[Transition], bool]:
    """Return what tells whether later states still differ so from ``before`` that the rule is broken."""
    key = key_of(finding)

    def stands(later: Transition) -> bool:
        commit = later.commit
        of_protocol = finding.code.startswith("TF")
        if later.replaces_all and commit.metadata and finding.code not in ("TF09", "TW15"):
            listed = later.after.protocol.features
            needed = with_requirements(used_features(later.after) | listed)
            return of_protocol and any(not has_feature(listed, name) for name in needed)
        changes = commit.protocols if of_protocol else commit.metadata
        if not (changes or (finding.code == "TW15" and commit.protocols)):
            return True
        as_if = Commit(commit.version, commit.info, protocols=commit.protocols[-1:], metadata=commit.metadata[-1:])
        found = [key_of(finding) for finding in rule(Transition(before, as_if, later.after, {}))]
        return any(key[0] == "TW15" for key in found) if key[0] == "TW15" else key in found

    return stands


def _same_path(finding: Finding, state: TableState) -> Callable[[Transition], bool]:
    """Return what tells whether a column still has the physical path that was another's."""
    try:
        fields = MappedSchema.of(state.metadata).fields
    except BrokenLogError:
        return lambda _: True
    path = next((field.path for field in fields if str(field.column) == finding.column), None)

    def stands(later: Transition) -> bool:
        if not later.commit.metadata:
            return True
        if later.replaces_all:
            return False
        try:
            schema = MappedSchema.of(later.after.metadata)
        except BrokenLogError:
            return True
        return schema.is_mapped and path in schema.by_path

    return stands
