"""The audit of histories in which one commit is damaged: what it says of it, and for how long."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from typing import Any

import pytest

from airflow_delta_provider.domain.audit.history import HistoryAudit
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.table_state import Replay
from airflow_delta_provider.domain.report.report import Finding, Severity, TableReport
from tests.unit.damages import CASES, edits, histories, steps
from tests.unit.damages.case import Case
from tests.unit.damages.edits import added, column, configured, metadata
from tests.unit.damages.histories import KEY, V
from tests.unit.damages.steps import carry_on
from tests.unit.log_builder import CULPRIT, DOMAIN, ENGINE, Actions, Damage, History, Table, audited, body, roots
from tests.unit.mapped_tables import ID, NAME
from tests.unit.states import field

#: Told of a log without protocol or metadata, of which there is no history of states: see below.
WITHOUT_STATES = {"TF10", "TF13", "MD04", "MD09"}
#: What follows from a rule of the protocol in each case: see below.
FOLLOWING = {"UT08"}
#: Told of a table that also breaks another rule in each case: see below.
BESIDE = {"AC20"}
#: What is healed by an attempt that leaves the property wrong for another reason.
OTHERWISE = {"CM01", "TW01", "UT03", "UT04", "UT05", "UT06"}
#: Not told of a log alone: data, checkpoints and other files, tables that a catalog manages, reports of other jobs.
NOT_OF_COMMITS = (
    {"LG01", "LG02", "LG05", "LG07", "LG08", "LG09", "LG10", "LG11", "LG12", "LG13"}
    | {f"LG{number}" for number in (*range(14, 22), 27)}
    | {f"RT{number}" for number in (25, 26, 27, 30)}
)


def named(case: Case) -> str:
    return f"{case.code} {case.name}".strip()


each_case = pytest.mark.parametrize("case", CASES, ids=named)


def kind(case: Case) -> tuple[Hashable, ...]:
    """All that decides how an audit remembers a violation and when it ends, except the rule's own check."""
    rule = RULES[case.code]
    lifetime = (rule.healing, rule.about_live_files, rule.about_older_files, rule.survives_replacement)
    return rule.scope, rule.needs, *lifetime, rule.reported_once, rule.of_all_columns, rule.blames, case.healed_by


ONE_OF_EACH_KIND = {kind(case): case for case in reversed(CASES)}.values()


def of_each_kind(case: Case, *values: object) -> Any:
    """Parameters of a test that says the same of all damages of a kind: one of each, and all of them in `make soak`."""
    return pytest.param(case, *values, marks=[] if case in ONE_OF_EACH_KIND else [pytest.mark.soak])


each_kind = pytest.mark.parametrize("case", [of_each_kind(case) for case in CASES], ids=named)


def damaged(case: Case, then: Callable[[Table], Any] | None = None) -> tuple[Table, int]:
    """The history of a case, and the version that is damaged."""
    table = case.before().damaged(case.damage)
    version = table.version + 1
    case.step(table)
    (then or case.then or carry_on)(table)
    return table, version


def told(findings: list[Finding]) -> list[tuple[str, int | None, str | None]]:
    return [(finding.code, finding.version, finding.column) for finding in findings]


def test_every_rule_that_commits_can_break_is_broken_here() -> None:
    scopes = {Scope.STATE, Scope.COMMIT, Scope.PAIR, Scope.HISTORY}
    families = {"TF", "MD", "CM", "UT", "TW", "RT", "LG", "AC"}
    rules = {rule.code for rule in RULES.values() if rule.scope in scopes and rule.code[:2] in families}
    assert rules - NOT_OF_COMMITS - WITHOUT_STATES - FOLLOWING - BESIDE == {case.code for case in CASES}


@each_case
def test_damage_is_told_once_with_its_commit_its_engine_and_what_follows(case: Case) -> None:
    table, version = damaged(case)
    findings = audited(table.commits)
    assert told(roots(findings)) == [(case.code, version, case.column)]
    (root,) = roots(findings)
    info = next(action["commitInfo"] for action in table.commits[version] if "commitInfo" in action)
    assert (root.engine, root.writer, root.operation) == (CULPRIT, "Delta Spark 3.2.0", info["operation"])
    assert root.healed_version is None
    assert case.shows in (root.action or "")
    assert {finding.code for finding in findings} - {case.code} == set(case.follows)
    assert {finding.caused_by for finding in findings} <= {None, root.fingerprint}


@each_case
@pytest.mark.parametrize("operation", ["RESTORE", "CREATE OR REPLACE TABLE AS SELECT"])
def test_name_of_an_operation_excuses_nothing(case: Case, operation: str) -> None:
    if case.about_operation:
        pytest.skip("the operation is told by its name")
    table, version = damaged(case)
    info = body(table.commits[version], "commitInfo")
    info |= {"operation": operation, "operationParameters": {"version": version - 1}}
    for since in (None, 0 if case.needs_history else version - 1):
        assert told(roots(audited(table.commits, since))) == [(case.code, version, case.column)]


@each_case
def test_what_is_judged_from_a_later_version_on_is_the_same(case: Case) -> None:
    table, version = damaged(case)
    for since in (0, version - 1):
        if case.needs_history and since:
            continue
        assert told(roots(audited(table.commits, since))) == [(case.code, version, case.column)]
    assert {finding.code for finding in audited(table.commits, version)} <= set(case.follows)


@each_case
def test_damage_is_the_same_violation_however_long_ago(case: Case) -> None:
    table, version = damaged(case)
    prints = {roots(audited(table.commits[:end]))[0].fingerprint for end in range(version + 1, len(table.commits) + 1)}
    assert len(prints) == 1


def undo(case: Case, table: Table, version: int) -> None:
    """Change protocol, metadata and domains back to what they would be."""
    sound = case.before()
    if case.damage is not edits.nothing:
        case.step(sound)
    actions = []
    for kind, is_now, should in (
        ("metaData", table.now.metadata, sound.now.metadata),
        ("protocol", table.now.protocol, sound.now.protocol),
    ):
        if is_now != should:
            actions.append({kind: should})
    for name in {**table.now.domains, **sound.now.domains}:
        configuration = sound.now.domains.get(name)
        if configuration != table.now.domains.get(name):
            stays = name == "delta.clustering" and sound.supports("clustering")  # engines write that no column is left
            removed = configuration is None and not stays
            configuration = configuration or ('{"clusteringColumns":[]}' if stays else table.now.domains[name])
            domain = {"domain": name, "configuration": configuration, "removed": removed}
            actions.append({"domainMetadata": domain})
    assert actions
    table.commit("REPAIR", *actions)


HEALS: dict[str, Callable[[Case, Table, int], Any]] = {
    "undo": undo,
    "restore": lambda case, table, version: table.restore(version - 1),
    "replace": lambda case, table, version: table.replace(KEY, V),
}


@pytest.mark.parametrize(
    ("case", "how"),
    [(case, how) for case in CASES for how in HEALS if how in case.healed_by],
    ids=lambda value: value if isinstance(value, str) else named(value),
)
def test_damage_that_a_later_commit_puts_right_is_healed(case: Case, how: str) -> None:
    quiet = (lambda table: table) if how == "undo" else None
    table, version = damaged(case, quiet)
    HEALS[how](case, table, version)
    healing = table.version
    table.append()
    findings = audited(table.commits)
    replaced = {("MD08", healing)} if how == "replace" else set()
    standing = {(finding.code, finding.version) for finding in findings if finding.healed_version is None}
    assert standing - replaced == set()
    if not case.of_newest:
        root = next(finding for finding in findings if (finding.code, finding.version) == (case.code, version))
        assert root.healed_version is not None
        assert root.healed_version <= healing


@pytest.mark.parametrize(
    ("case", "how"),
    [
        (case, how)
        for case in CASES
        for how in ("restore", "replace")
        if not {how, case.code} & {*case.healed_by, *OTHERWISE}
    ],
    ids=lambda value: value if isinstance(value, str) else named(value),
)
def test_damage_that_outlives_an_attempt_stands(case: Case, how: str) -> None:
    table, version = damaged(case)
    HEALS[how](case, table, version)
    table.append()
    root = next(f for f in audited(table.commits) if (f.code, f.version) == (case.code, version))
    assert (root.healed_version, root.caused_by) == (None, None)


def test_feature_of_deletion_vectors_is_not_dropped_while_files_have_them() -> None:
    table = histories.with_a_vector()
    path = next(path for path, vector in table.now.files if vector)
    table.drop_feature("deletionVectors")
    (found,) = [finding for finding in audited(table.append().commits) if finding.code == "AC06"]
    assert (found.version, found.path, found.healed_version) == (table.version - 1, path, None)
    table.delete(path)
    (found,) = [finding for finding in audited(table.commits) if finding.code == "AC06"]
    assert found.healed_version == table.version


def test_commit_of_a_catalog_managed_table_without_a_transaction_id() -> None:
    table = histories.timed().support("catalogManaged")
    table.damaged(edits.info(txnId=None)).append()
    assert told([f for f in audited(table.commits) if f.code == "AC20"]) == [("AC20", table.version, None)]


# -- several damages ------------------------------------------------------------------------------


def everything() -> Table:
    """A mapped table with row tracking, deletion vectors, type widening and in-commit timestamps."""
    table = Table(
        KEY,
        V,
        field("w", "short"),
        features=["columnMapping", "rowTracking", "deletionVectors", "typeWidening", "inCommitTimestamp"],
        properties={
            "delta.columnMapping.mode": "name",
            "delta.enableRowTracking": "true",
            "delta.enableDeletionVectors": "true",
            "delta.enableTypeWidening": "true",
            "delta.enableInCommitTimestamps": "true",
        },
    )
    return table.append(2).widen("w", "integer").append(2)


@pytest.mark.parametrize(
    ("damage", "code", "follows"),
    [
        (column("v", metadata={NAME: None, ID: None}), "CM02", {"CM03"}),
        (column("v", metadata={ID: 99}), "CM12", {"CM07"}),
        (column("v", type="complex"), "MD13", {"TW08"}),
        (column("w", metadata={"delta.typeChanges": None}, type="short"), "TW08", {"TW12"}),
    ],
)
def test_what_follows_from_a_damaged_column_is_told_under_it(damage: Any, code: str, follows: set[str]) -> None:
    table = everything()
    table.damaged(damage).set_properties(a="b").append()
    findings = audited(table.commits)
    (root,) = roots(findings)
    assert (root.code, {finding.code for finding in findings if finding.caused_by == root.fingerprint}) == (
        code,
        follows,
    )


def test_type_that_is_put_right_is_no_damage() -> None:
    table = Table(KEY, field("v", "complex")).append()
    parsed = table.schema
    parsed["fields"][1]["type"] = "long"
    table.commit("REPAIR", {"metaData": {**table.now.metadata, "schemaString": json.dumps(parsed)}})
    assert [(finding.code, finding.healed_version) for finding in audited(table.commits)] == [("MD13", 2)]


def test_file_that_is_live_twice_is_none_that_takes_ids_of_others() -> None:
    table = histories.tracked_vectors()
    table.damaged(lambda actions: actions.remove(next(a for a in actions if "remove" in a)))
    table.mark_deleted(table.paths[0])
    (finding,) = roots(audited(table.commits))
    assert told([finding]) == [("LG04", table.version, None)]
    assert "with a deletion vector while the file is live with another one" in finding.message


def test_several_damages_are_each_told_with_their_own_commit() -> None:
    table = everything()
    table.damaged(metadata(id="another")).set_properties(a="1").append()
    table.damaged(column("v", metadata={NAME: "v"})).set_properties(a="2").append()
    table.damaged(added(baseRowId=None)).append().mark_deleted(table.paths[0])
    table.damaged(column("w", metadata={"delta.typeChanges": None})).set_properties(a="3").append()
    table.damaged(added(1, baseRowId=0)).append(2).optimize()
    assert told(audited(table.commits)) == [
        ("MD08", 4, None),
        ("CM11", 6, "v"),
        ("TW12", 10, "w"),
        ("RT05", 8, None),
        ("RT15", 12, None),
    ]
    assert [finding.healed_version for finding in audited(table.commits)] == [None, None, None, 13, 13]


def test_rule_that_is_broken_healed_and_broken_again_is_two_violations() -> None:
    table = everything()
    sound = table.configuration
    for value in ("1", "0"):
        table.damaged(configured(delta__columnMapping__maxColumnId=value)).set_properties(note="innocent").append()
        if value == "1":
            table.commit("REPAIR", table._changed(configuration=sound))
    standing, healed = (f for f in audited(table.commits) if f.code == "CM10")
    assert [(standing.version, standing.healed_version), (healed.version, healed.healed_version)] == [(7, None), (4, 6)]
    assert standing.fingerprint != healed.fingerprint
    follows = {(f.code, f.caused_by) for f in audited(table.commits) if f.caused_by is not None}
    assert follows == {("CM07", standing.fingerprint), ("CM07", healed.fingerprint)}


@pytest.mark.parametrize(
    ("damage", "code"),
    [(metadata(id="another"), "MD08"), (edits.info(inCommitTimestamp=1), "AC02")],
    ids=["MD08", "AC02"],
)
def test_rule_that_a_later_commit_breaks_once_more_is_told_with_both(damage: Any, code: str) -> None:
    """Neither a warning nor an earlier error hides a later one."""
    table = everything().replace(KEY, V)
    for _ in range(2):
        table.damaged(damage).set_properties(note=f"{table.version}").append()
        damage = metadata(id="a third") if code == "MD08" else damage
    found = {finding.severity: finding for finding in audited(table.commits) if finding.code == code}
    assert found[Severity.ERROR].version == 5
    assert (found[Severity.ERROR].alike, found[Severity.ERROR].alike_until) == (1, 7)
    assert "1 more commit has the same problem, most recently in version 7." in found[Severity.ERROR].message
    assert (Severity.WARNING in found) == (code == "MD08")


@pytest.mark.parametrize(
    "damage",
    [
        column("v", metadata={NAME: "v"}),
        configured(delta__columnMapping__mode="id"),
        column("v", type="byte"),
    ],
    ids=["CM11", "CM09", "TW08"],
)
def test_change_back_is_a_damage_to_what_was_written_meanwhile(damage: Any) -> None:
    table = everything()
    sound = table.now.metadata
    table.damaged(damage).set_properties(note="innocent").append()
    table.commit("REPAIR", {"metaData": sound})
    standing = [finding for finding in audited(table.commits) if finding.healed_version is None]
    assert {finding.version for finding in standing} == {6}
    table.delete(*table.paths[-1:])
    healed = everything()
    healed.damaged(damage).set_properties(note="innocent").append().delete(healed.paths[-1])
    healed.commit("REPAIR", {"metaData": sound})
    assert [finding for finding in audited(healed.commits) if finding.healed_version is None] == []


# -- what a finding is told by --------------------------------------------------------------------


def test_fingerprints_tell_table_version_and_file_apart() -> None:
    def fingerprint(before: int = 0, name: str | None = None, *, other: bool = False) -> str | None:
        table = histories.tracked()
        if other:
            body(table.commits[0], "metaData")["id"] = "another"
        for _ in range(before):
            table.set_properties(note=str(_))
        path: dict[str, Any] = {} if name is None else {"path": name}
        table.damaged(added(baseRowId=0, **path)).append()
        return roots(audited(table.commits))[0].fingerprint

    prints = [fingerprint(), fingerprint(1), fingerprint(name="elsewhere"), fingerprint(other=True)]
    assert len(set(prints)) == 4
    assert fingerprint() == prints[0]


def test_rule_that_is_broken_for_many_files_is_one_finding_with_their_number() -> None:
    def rename_all(actions: Any) -> None:
        for action in actions:
            if "add" in action:
                action["add"]["partitionValues"] = {"id": "1"}

    table = histories.mapped_partitions()
    for _ in range(3):
        table.damaged(rename_all).append(500)
    (finding,) = audited(table.commits)
    assert (finding.code, finding.version) == ("CM14", 4)
    assert "1,499 more files have the same problem, most recently in version 6." in finding.message


def test_file_added_again_under_changed_partition_columns_is_a_consequence() -> None:
    table = histories.with_vectors().damaged(metadata(partitionColumns=["v"]))
    steps.set_property(table)
    table.mark_deleted(table.paths[0])
    findings = audited(table.commits)
    assert told(roots(findings)) == [("MD11", 3, None)]
    assert [(finding.code, finding.version) for finding in findings] == [("MD11", 3), ("AC08", 4)]


def test_row_ids_that_many_files_share_are_one_finding_with_their_number() -> None:
    def all_at_once(actions: Any) -> None:
        for action in actions:
            if "add" in action:
                action["add"]["baseRowId"] = 0

    table = histories.tracked().damaged(all_at_once).append(20)
    findings = audited(table.commits)
    assert [(f.code, f.version, f.caused_by is None) for f in findings] == [("RT08", 3, False), ("RT15", 3, True)]
    assert "19 more files have the same problem." in findings[1].message
    assert all(finding.engine == CULPRIT for finding in findings)


@pytest.mark.parametrize(
    ("code", "tracked", "wrong"),
    [
        ("RT05", True, {"baseRowId": None}),
        ("RT09", True, {"defaultRowCommitVersion": 9999}),
        ("RT13", False, {"baseRowId": None}),
        ("RT15", True, {"baseRowId": 0}),
        ("RT16", True, {"defaultRowCommitVersion": 1}),
    ],
)
def test_what_is_wrong_with_the_ids_of_files_stands_until_the_last_is_gone(
    code: str, tracked: bool, wrong: dict[str, Any]
) -> None:
    table = histories.tracked() if tracked else Table(KEY, V, features=["rowTracking"]).append().append()
    table.damaged(edits.both(*(added(number, **wrong) for number in range(2)))).append(2, rows=1)
    version, paths = table.version, table.paths[-2:]
    for path in paths:
        (root,) = (finding for finding in audited(table.commits) if finding.code == code)
        assert (root.version, root.healed_version) == (version, None)
        table.delete(path)
    (root,) = (finding for finding in audited(table.commits) if finding.code == code)
    assert (root.version, root.healed_version) == (version, table.version)


def _without(feature: str) -> Damage:
    def damage(actions: Actions) -> None:
        wire = body(actions, "protocol")
        wire["writerFeatures"] = [name for name in wire["writerFeatures"] if name != feature]

    return damage


@pytest.mark.parametrize(
    ("before", "loss", "appends", "codes"),
    [
        (histories.timed, _without("inCommitTimestamp"), 0, ("TF11", "AC11")),
        (histories.timed_late, _without("inCommitTimestamp"), 1, ("TF11", "AC11")),
        (histories.tracked, _without("rowTracking"), 1, ("TF11", "RT05")),
        (histories.required, edits.schema(lambda parsed: parsed["fields"].pop(0)), 1, ("MD16", "MD31")),
        (histories.partitioned, metadata(partitionColumns=[]), 1, ("MD11", "MD11")),
    ],
)
def test_commit_that_undoes_a_loss_is_not_blamed_for_what_the_loss_left(
    before: Callable[[], Table], loss: Damage, appends: int, codes: tuple[str, str]
) -> None:
    table = before()
    was = [{"metaData": table.now.metadata}] if codes[0] != "TF11" else [{"protocol": table.now.protocol}]
    table.damaged(loss).commit("SET TBLPROPERTIES", *was)
    lost = table.version
    for _ in range(appends):
        table.append()
    table.commit("SET TBLPROPERTIES", *was)
    back = table.version
    (cause,) = roots(findings := audited(table.append().commits))
    assert (cause.code, cause.version, cause.healed_version) == (codes[0], lost, back)
    (left,) = (finding for finding in findings if finding.healed_version is None)
    assert (left.code, left.version, left.caused_by) == (codes[1], back, cause.fingerprint)
    assert f"It follows from {codes[0]}, which version {back} fixed." in left.message
    assert {*TableReport.of_findings("t", *findings).findings[:2]} == {left, cause}


def test_older_file_is_not_blamed_for_ids_that_a_newer_one_takes() -> None:
    table = histories.tracked()
    table.damaged(added(baseRowId=5)).append()
    findings = audited(table.commits)
    assert {(f.code, f.version, f.engine) for f in findings} == {("RT15", 3, CULPRIT), ("RT08", 3, CULPRIT)}
    assert {f.path for f in findings} == {table.paths[-1]}


@pytest.mark.parametrize("since", [None, 2, 3, 4])
def test_row_ids_that_an_earlier_commit_reserved_are_undecided_until_they_are_assigned_again(since: int | None) -> None:
    table = histories.tracked()
    first, mark = table.mark + 1, table._mark(table.mark + 100)
    table.commit("RESERVE", mark)
    for _ in range(2):
        table.damaged(edits.both(added(baseRowId=first), edits.marked(mark["domainMetadata"]["configuration"])))
        table.append()
        table.delete(table.paths[-1])
    found = [finding for finding in audited(table.commits, since) if finding.code == "RT15"]
    severities = {4: Severity.UNDECIDED, 6: Severity.ERROR}
    assert {f.version: f.severity for f in found} == {v: s for v, s in severities.items() if v > (since or 0)}


def test_mark_that_was_lowered_is_blamed_for_older_files_above_it() -> None:
    table = histories.tracked()
    table.damaged(edits.extra(edits.domain("delta.rowTracking", '{"rowIdHighWaterMark":9}'))).set_properties(a="1")
    assert [(f.code, f.version) for f in audited(table.commits)] == [("RT07", 3), ("RT11", 3)]
    table.damaged(edits.nothing).append().delete(table.paths[-1])
    assert [(f.code, f.version) for f in roots(audited(table.commits))] == [("RT11", 3)]


# -- logs that were cleaned up --------------------------------------------------------------------


class Shortened(History):
    """A history whose commits up to a version are not kept, though the state of that version is."""

    def __init__(self, commits: list[Any], first: int) -> None:
        super().__init__(commits)
        self._first = first

    def commit_at(self, version: int) -> Any:
        return super().commit_at(version) if version > self._first else None

    def state_at(self, version: int) -> Any:
        return super().state_at(version) if version >= self._first else None

    def paths_seen_before(self, version: int, paths: Any) -> frozenset[str]:
        return frozenset()

    def commits_that_added(self, *wanted: Any) -> Any:
        found = super().commits_that_added(*wanted).items()
        return {path: addition for path, addition in found if addition.commit.version > self._first}


def audited_from(table: Table, first: int) -> list[Finding]:
    """Judge a history of which the commits up to a version are not kept."""
    replay, log = Replay(with_files=True), Shortened(table.commits, first)
    for actions in table.commits[: first + 1]:
        replay.take(actions)
    audit = HistoryAudit(replay, replay.state(first), log)
    for version in range(first + 1, len(table.commits)):
        audit.take(version, table.commits[version])
    return audit.findings()


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (added(baseRowId=None), "RT05"),
        (edits.statistics(lambda stats: stats.pop("numRecords")), "RT06"),
        (added(baseRowId=1), "RT08"),
        (added(defaultRowCommitVersion=9999), "RT09"),
    ],
)
def test_what_is_wrong_with_files_of_commits_that_are_not_kept_is_of_the_oldest_version_or_before(
    damage: Any, code: str
) -> None:
    table = histories.tracked()
    table.damaged(damage).append().append().append()
    for first in (3, 4, 5):
        (finding,) = audited_from(table, first)
        assert (finding.code, finding.version, finding.at_or_before) == (code, first, True)


def test_later_damage_does_not_hide_that_the_oldest_version_has_it_already() -> None:
    table = histories.tracked()
    for _ in range(2):
        table.damaged(added(baseRowId=None)).append()
    (finding,) = audited_from(table, 3)
    assert (finding.code, finding.version, finding.at_or_before) == ("RT05", 3, True)


def test_violation_stays_the_same_one_while_the_log_is_cleaned_up() -> None:
    table = histories.tracked().set_properties(**{"delta.rowTrackingSuspended": "true"})
    for _ in range(4):
        table.append()
    found = [audited_from(table, first) for first in (4, 5, 6)]
    assert [{finding.version for finding in each} for each in found] == [{4}, {5}, {6}]
    assert len({tuple(sorted(str(finding.fingerprint) for finding in each)) for each in found}) == 1


def test_mark_that_was_lost_before_the_oldest_version_is_lost_however_ids_are_given_out_again() -> None:
    table = histories.tracked()
    before = table.version
    table.drop_row_tracking().optimize().restore(before)
    lost = table.version
    table.append().append()
    late = {finding.code: finding for finding in audited_from(table, lost)}
    assert (late["RT10"].version, late["RT10"].at_or_before, late["RT10"].healed_version) == (lost, True, None)
    follows = {code for code, finding in late.items() if finding.caused_by == late["RT10"].fingerprint}
    assert follows == {"RT07", "RT08", "RT11", "RT15"}
    assert {finding.code for finding in audited(table.commits, lost)} == follows


@pytest.mark.parametrize("since", [None, 6])
def test_restore_that_lowers_the_highest_column_id_is_no_restore(since: int | None) -> None:
    table = histories.mapped()
    then = table.version
    table.add_column(field("extra", "string")).append()
    while table.version < 6:
        table.append()
    table.damaged(configured(delta__columnMapping__maxColumnId="1")).restore(then)
    assert "CM10" in {finding.code for finding in audited(table.commits, since) if finding.version == table.version}


# -- usage tracking -------------------------------------------------------------------------------


def test_usage_that_was_true_before_it_was_missing_is_not_set_to_false() -> None:
    table = histories.used()
    key = "delta__columnMapping__hasDroppedOrRenamed"
    table.damaged(edits.nothing).set_properties(**{key: None}).append()
    table.damaged(edits.nothing).set_properties(**{key: "false"}).append()
    findings = audited(table.commits)
    assert [(f.code, f.version, f.healed_version) for f in findings] == [("UT04", 9, None), ("UT01", 7, 9)]


def test_usage_tracking_that_readers_are_told_of_follows_from_the_protocol() -> None:
    table = histories.tracking_usage()
    readers = ["columnMapping", "columnMappingUsageTracking"]
    writers = sorted({*table.now.protocol["writerFeatures"], *readers})
    table.damaged(
        edits.extra_protocol(minReaderVersion=3, minWriterVersion=7, readerFeatures=readers, writerFeatures=writers)
    ).append()
    root, consequence = sorted(audited(table.commits), key=lambda finding: finding.code)
    assert (root.code, root.version, consequence.code) == ("TF21", 5, "UT08")
    assert consequence.caused_by == root.fingerprint


def test_commits_that_know_a_file_by_its_own_ids_follow_from_the_one_that_changed_them() -> None:
    """The log was damaged after the fact: what came later still says what was right."""
    table = histories.tracked_vectors().append()
    path = table.paths[-1]
    table.mark_deleted(path).delete(path)
    edits.added(baseRowId=0)(table.commits[3])
    findings = audited(table.commits)
    assert told(roots(findings)) == [("RT15", 3, None)]
    assert {finding.code for finding in findings} == {"RT15", "RT14", "RT12"}


def test_action_of_a_column_has_what_the_schema_says_of_it() -> None:
    table = Table(*(field(f"column_{number}", "integer") for number in range(50)), properties={"delta.a": "b"}).append()
    table.damaged(column("column_40", type="string")).set_properties(note="innocent")
    (finding,) = audited(table.commits)
    assert (finding.code, finding.column) == ("TW08", "column_40")
    assert '\\"name\\": \\"column_40\\", \\"type\\": \\"string\\"' in (finding.action or "")


# -- the first commits ----------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "first", "never"), [("protocol", "TF10", "TF13"), ("metaData", "MD04", "MD09")])
def test_first_commit_without_protocol_or_metadata(kind: str, first: str, never: str) -> None:
    table = Table(KEY)
    table.append().set_properties(note="innocent")
    table.commits[0] = [action for action in table.commits[0] if kind not in action]
    short = [[action for action in actions if kind not in action] for actions in table.commits]
    root, consequence = audited(short)
    assert (root.code, root.version, root.engine, root.caused_by) == (first, 0, ENGINE, None)
    assert (consequence.code, consequence.caused_by) == (never, root.fingerprint)
    table.commits.append([{kind: body(Table(KEY).commits[0], kind)}])
    assert [(f.code, f.healed_version) for f in audited(table.commits)] == [(first, 2 if kind == "metaData" else 3)]


def created(history: Callable[[], Table], damage: Any) -> list[list[dict[str, Any]]]:
    """A table whose first commit has its first rows, too, as a clone and CREATE TABLE AS SELECT write it."""
    first, rows = history().commits[:2]
    actions = [*first, *(action for action in rows if "commitInfo" not in action)]
    for action in actions:
        if "defaultRowCommitVersion" in action.get("add", {}):
            action["add"]["defaultRowCommitVersion"] = 0
    damage(actions)
    return [actions]


VECTOR = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 1, "sizeInBytes": 34}
OTHER = {"path": "another", "baseRowId": 5}
CREATED = [
    ("AC01", histories.timed, edits.info(inCommitTimestamp=None)),
    ("AC01", histories.timed, edits.last_first),
    ("AC05", histories.plain, edits.extra(edits.domain("mine"))),
    ("AC06", histories.plain, added(deletionVector={**VECTOR, "cardinality": 1})),
    ("AC10", histories.with_vectors, added(deletionVector={**VECTOR, "cardinality": 1}, stats=None)),
    ("AC10", histories.with_vectors, added(deletionVector={**VECTOR, "cardinality": 99})),
    ("LG04", histories.with_vectors, edits.twice("add", deletionVector={**VECTOR, "cardinality": 1})),
    ("RT05", histories.tracked, added(baseRowId=None)),
    ("RT07", histories.tracked, edits.marked('{"rowIdHighWaterMark": 4}')),
    ("RT08", histories.tracked, edits.twice("add", **OTHER)),
    ("RT13", histories.supported, added(baseRowId=None)),
    ("RT16", histories.tracked, added(defaultRowCommitVersion=-1)),
]


@pytest.mark.parametrize(
    "history", [*dict.fromkeys(history for _, history, _ in CREATED)], ids=lambda history: history.__name__
)
def test_table_may_be_created_with_its_rows(history: Callable[[], Table]) -> None:
    assert audited(created(history, edits.nothing)) == []


@pytest.mark.parametrize(("code", "history", "damage"), CREATED)
def test_commit_that_creates_a_table_is_judged_like_others(
    code: str, history: Callable[[], Table], damage: Any
) -> None:
    assert told(roots(audited(created(history, damage)))) == [(code, 0, None)]


def test_version_that_cannot_be_made_of_the_commits_is_not_judged() -> None:
    audit = HistoryAudit(Replay(with_files=True))
    for version, actions in enumerate(histories.plain().commits):
        audit.take(version, actions)
    assert (audit.findings(), audit.version, audit.live_files) == ([], 2, 3)


def test_warnings_leave_errors_alone() -> None:
    """Every damage weighs at most what its rule does."""
    for case in CASES:
        table, version = damaged(case)
        root = next(f for f in audited(table.commits) if (f.code, f.version) == (case.code, version))
        lighter = Severity.WARNING, Severity.UNDECIDED
        assert root.severity in (RULES[case.code].severity, *lighter), named(case)


def test_mark_that_the_first_files_lack_is_the_fault_of_the_commit_that_adds_them() -> None:
    table = Table(KEY, V, features=["rowTracking"], properties={"delta.enableRowTracking": "true"})
    table.damaged(lambda actions: actions.remove(next(a for a in actions if "domainMetadata" in a))).append()
    (finding,) = audited(table.set_properties(note="innocent").commits)
    assert (finding.code, finding.version, finding.operation, finding.healed_version) == ("RT10", 1, "WRITE", None)


def test_mark_that_a_restore_loses_is_not_found_again_by_ids_that_begin_anew() -> None:
    # As Delta Spark 4.4.0 restores a version of before row tracking was dropped.
    table = histories.tracked()
    before = table.version
    table.drop_row_tracking().optimize().restore(before)
    lost = table.version
    found = {finding.code: finding for finding in audited(table.append().append().commits) if finding.is_open}
    assert (found["RT10"].version, found["RT10"].healed_version) == (lost, None)
    follows = {code: finding.version for code, finding in found.items() if finding.caused_by}
    assert follows == dict.fromkeys(("RT07", "RT08", "RT11", "RT15"), lost + 1)
    assert {found[code].caused_by for code in follows} == {found["RT10"].fingerprint}


@pytest.mark.parametrize("rows", [1, 5])
def test_mark_that_is_removed_is_lost_until_it_is_back_even_if_it_was_0(rows: int) -> None:
    table = Table(KEY, V, features=["rowTracking"], properties={"delta.enableRowTracking": "true"}).append(rows=rows)
    kept = table.now.domains[DOMAIN]
    lost = {"domain": DOMAIN, "configuration": kept, "removed": True}
    table.damaged(edits.extra({"domainMetadata": lost})).set_properties(note="a").set_properties(note="b")
    (finding,) = audited(table.set_properties(note="c").commits)
    assert (finding.code, finding.version, finding.healed_version) == ("RT10", 2, None)
    table.commit("WRITE", edits.domain(DOMAIN, kept))
    (finding,) = audited(table.commits)
    assert (finding.version, finding.healed_version) == (2, 5)
