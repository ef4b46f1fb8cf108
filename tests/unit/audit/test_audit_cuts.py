"""An audit that goes on from what an earlier one remembered says what an audit of the whole history says."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_delta_provider.domain.audit import file_records, routine_audit
from airflow_delta_provider.domain.audit.file_records import NO_FILES, FileRecords
from airflow_delta_provider.domain.audit.saved_state import AuditState, OpenViolation
from airflow_delta_provider.domain.checks.log.checkpoints import MALFORMED_CHECKPOINT
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.deletion_vector import DeletionVector
from airflow_delta_provider.domain.delta.derived_files import checksum_name
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.log_files import commit_name
from airflow_delta_provider.domain.report.report import Finding, Severity, Verdict
from airflow_delta_provider.jobs.audit.range_audit import RangeAudit, run_audit
from airflow_delta_provider.jobs.process import TimeBudget, Timings
from tests.tables.delta_spark_4_0 import logs
from tests.unit.audit.test_audit_history import HEALS, damaged, each_case, each_kind
from tests.unit.audit.test_audit_random import CHANCES, OPERATIONS, Model, Operation
from tests.unit.audit.test_audit_random import histories as random_histories
from tests.unit.audits_in_parts import Kept, content_of, differences, seen, told, verdict, whole_audits
from tests.unit.checkpoint_builder import as_parquet, classic_name, reconciled
from tests.unit.damages import CASES, FIRST, edits, histories
from tests.unit.damages.case import Case
from tests.unit.damages.steps import carry_on
from tests.unit.local_table import open_log
from tests.unit.log_builder import Actions, Table, body
from tests.unit.mapped_tables import Json

LOGS = logs()
#: What is undecided, or not known, once the commits are gone that added the files.
OF_FIRST_COMMITS = {"TW12", "RT15 ids of rows that are gone", "RT14 restored", "RT14 restored commit version"}


def stories(case: Case) -> Iterator[tuple[Table, int]]:
    """Histories with the damage of a case, each with the version that is damaged: carried on, and put right."""
    yield damaged(case)
    for name, heal in HEALS.items():
        if name != "undo" or name in case.healed_by:
            table, version = damaged(case, lambda table: table)
            heal(case, table, version)
            yield table, version


@each_kind
def test_damage_after_an_audit_is_told_as_in_an_audit_of_the_whole(case: Case) -> None:
    table, version = damaged(case)
    whole, before, end = whole_audits(table.commits), version - 1, table.version
    assert differences(whole, table.commits, before, version, end) == []
    assert differences(whole, table.commits, before, end) == []
    assert differences(whole, table.commits, end - 1, end) == []
    assert differences(whole, table.commits, *range(end + 1)) == []


@pytest.mark.soak
@each_case
def test_damage_is_told_as_in_an_audit_of_the_whole_wherever_earlier_ones_ended(case: Case) -> None:
    for table, _ in stories(case):
        whole, versions = whole_audits(table.commits), range(len(table.commits))
        cuts = [(first, end) for end in versions for first in range(end)]
        for ends in (*cuts, tuple(versions), tuple(versions[::2])):
            assert differences(whole, table.commits, *ends) == []


@pytest.mark.parametrize("name", LOGS)
def test_logs_of_delta_spark_are_audited_night_by_night_as_at_once(name: str) -> None:
    storage, memory = Kept([]), None
    files = LOGS[name]
    for end in range(sum(1 for file in files if file.endswith(".json"))):
        storage.files = {file: content for file, content in files.items() if int(file[:20]) <= end}
        found, memory, _ = told(storage, memory)
        assert seen(found, end - 1) == seen(told(storage)[0], end - 1)


Steps = list[tuple[Operation, int]]
_STEPS = st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 20)), max_size=4)


def damaged_at_random(commits: list[Actions], kind: int, where: int) -> Table:
    """Damage one of the commits, where that can be; those after it are forgotten."""
    table = Table.of(commits)
    chances = [chance for _, chance in (*CHANCES[kind % len(CHANCES) :], *CHANCES)]
    versions = range(1, len(commits))
    for chance in chances:
        found = ((version, chance(table.state(version - 1), table.commits[version])) for version in versions)
        possible = [(version, damage) for version, damage in found if damage is not None]
        if possible:
            version, damage = possible[where % len(possible)]
            actions = copy.deepcopy(commits[version])
            damage(actions)
            return Table.of([*commits[:version], actions])
    return table


def carried_on(table: Table, steps: Steps, names: int) -> Table:
    model = Model(table)
    model.names, model.restorable = names, list(range(1, len(table.commits)))
    for operation, number in steps:
        operation(model, number)
        model.restorable.append(table.version)
    return table


@given(random_histories(), st.tuples(st.integers(0, 1000), st.integers(0, 1000)), _STEPS, st.data())
@settings(max_examples=40)
def test_damaged_histories_are_audited_in_parts_as_at_once(
    table: Table, damage: tuple[int, int], steps: Steps, data: st.DataObject
) -> None:
    broken = carried_on(damaged_at_random(table.commits, *damage), steps, 100)
    end = broken.version
    ends = sorted(data.draw(st.sets(st.integers(0, end), max_size=3)) | {end})
    assert differences(whole_audits(broken.commits), broken.commits, *ends) == []


def test_version_that_comes_back_under_another_name_is_known_though_it_was_long_before() -> None:
    table = histories.widening()
    then = 1  # before the type was widened
    table.append().append().restore(then)
    body(table.commits[-1], "commitInfo")["operation"] = "WRITE"
    for cut in range(then, table.version):
        assert differences(whole_audits(table.commits), table.commits, cut, table.version) == []
    assert told(Kept(table.commits))[0] == []


# -- commits that remove files ----------------------------------------------------------------------

REMOVALS: dict[str, Callable[[Table], Table]] = {
    "delete": lambda table: table.delete(*table.paths[:2]),
    "update": lambda table: table.update(table.paths[1]).update(table.paths[-1]),
    "vectors": lambda table: table.mark_deleted(table.paths[0]).mark_deleted(table.paths[0]).delete(table.paths[0]),
    "optimize": lambda table: table.append().optimize(),
    "overwrite": lambda table: table.append().overwrite(),
}
#: Values of an action about a file that was live before: each differs from those of its add.
WRONG: dict[str, Callable[[Json], Json]] = {
    "size": lambda body: {"size": body["size"] + 1},
    "ids": lambda body: {"baseRowId": body.get("baseRowId", 0) + 1},
    "version": lambda body: {"defaultRowCommitVersion": body.get("defaultRowCommitVersion", 0) + 1},
    "rows": lambda body: {"stats": '{"numRecords":7}'},
    "path": lambda body: {"path": f"other-{body['path']}"},
    "change": lambda body: {"dataChange": not body["dataChange"]},
}


def with_files(tracked: bool) -> Table:
    table = (histories.tracked_vectors if tracked else histories.with_vectors)()
    return table.append(3).append(2, rows=5)


class Counting(Kept):
    """A log in memory that records the names of the files that are read."""

    def __init__(self, commits: Sequence[Actions]) -> None:
        super().__init__(commits)
        self.seen: set[str] = set()

    def read(self, path: str) -> bytes:
        self.seen.add(path.rsplit("/", 1)[-1])
        return super().read(path)


@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize("removal", REMOVALS)
def test_commits_that_remove_files_are_audited_without_reading_earlier_ones(removal: str, tracked: bool) -> None:
    table = with_files(tracked)
    cut = table.version
    _, memory, _ = told(Kept(table.commits))
    REMOVALS[removal](table)
    for end in range(cut + 1, table.version + 1):
        storage = Counting(table.commits[: end + 1])
        found, memory, _ = told(storage, memory)
        assert (found, storage.seen) == ([], {commit_name(end)})
        assert memory == replace(told(Kept(table.commits[: end + 1]))[1], commit_info=memory.commit_info)


@pytest.mark.parametrize("kind", ["add", "remove"])
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("removal", REMOVALS)
def test_wrong_values_of_removed_files_are_told_as_in_an_audit_of_the_whole(
    removal: str, wrong: str, kind: str
) -> None:
    for tracked in (False, True):
        table = with_files(tracked)
        cut = table.version
        REMOVALS[removal](table)
        for version in range(cut + 1, table.version + 1):
            commits = copy.deepcopy(table.commits[: version + 1])
            for action in commits[-1]:
                if kind in action:
                    action[kind] |= WRONG[wrong](action[kind])
            commits.append(table.append().commits[-1])
            whole = whole_audits(commits)
            for ends in ((cut, version + 1), (version - 1, version, version + 1)):
                assert differences(whole, commits, *ends) == []


def test_digests_that_are_alike_lead_to_no_other_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_records, "path_checksum", lambda path: 7)
    monkeypatch.setattr(routine_audit, "path_checksum", lambda path: 7)
    for removal in REMOVALS.values():
        table = with_files(tracked=True)
        removal(table)
        assert differences(whole_audits(table.commits), table.commits, *range(table.version + 1)) == []


def test_search_for_removed_files_that_fails_costs_no_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    table = with_files(tracked=True)
    _, memory, _ = told(Kept(table.commits))
    table.update(table.paths[0])
    log = open_log(Counting(table.commits), "file:/t")
    monkeypatch.delattr(FileRecords, "find")
    failed: list[str] = []

    def make(*, shortcuts: bool) -> RangeAudit:
        return RangeAudit(log, log.list_names(), "t", Timings(), failed.append, TimeBudget(None), shortcuts=shortcuts)

    _, audit = run_audit(make, lambda run: run.go_on(memory, table.version), failed.append)
    assert (audit.version, audit.findings(), len(failed)) == (table.version, [], 1)


# -- logs that were cleaned up --------------------------------------------------------------------


def cleaned_up(table: Table, cut: int, first: int, end: int) -> list[list[Finding]]:
    """Audit up to a version, and twice after the log was cleaned up: up to another, and without a new commit since."""
    _, memory, _ = told(Kept(table.commits[: cut + 1]))
    storage = Kept(table.commits[: end + 1]).clean_up(table, first)
    found, memory, _ = told(storage, memory)
    return [found, told(storage, memory)[0]]


def errors(findings: Iterable[Finding]) -> set[str]:
    """Return the codes of open errors; LG14 is of checkpoints in JSON, which hold what Parquet cannot."""
    codes = {finding.code for finding in findings if finding.severity is Severity.ERROR and finding.is_open}
    return codes - {MALFORMED_CHECKPOINT.code}


@each_kind
def test_damage_after_the_log_was_cleaned_up_is_told_as_in_an_audit_of_the_whole(case: Case) -> None:
    if {case.code, f"{case.code} {case.name}"} & OF_FIRST_COMMITS:
        pytest.skip("only the commits that are gone show it for certain")
    table, version = damaged(case)
    whole, cut = told(Kept(table.commits))[0], version - 1
    if not cut:
        pytest.skip("nothing is there to be cleaned up")
    for found in cleaned_up(table, cut, cut, table.version):
        assert (seen(found, cut), verdict(found)) == (seen(whole, cut), verdict(whole))


def test_lost_type_changes_are_undecided_after_the_log_was_cleaned_up() -> None:
    table, version = damaged(FIRST["TW12"])
    for found in cleaned_up(table, version - 1, version - 1, table.version):
        assert [(f.code, f.version, f.severity) for f in found] == [("TW12", version, Severity.UNDECIDED)]


def test_removal_by_a_restore_of_a_version_that_is_gone_is_undecided() -> None:
    case = next(case for case in CASES if (case.code, case.name) == ("AC03", "rows changed"))
    table, version = damaged(case, lambda table: table)
    HEALS["restore"](case, table, version)
    for found in cleaned_up(table, version, version, table.version):
        of_restore = [(finding.code, finding.severity) for finding in found if finding.version == table.version]
        assert of_restore == [("AC03", Severity.UNDECIDED)]


#: Findings of which a RESTORE alone is the end, and only the version that it restores shows that.
ENDED_BY_RESTORE = {"AC13", "AC14"}
LATER = [pytest.param(heal, marks=pytest.mark.soak) for heal in HEALS if heal != "undo"]


@pytest.mark.parametrize("heal", [None, "undo", *LATER])
@each_kind
def test_damage_of_commits_that_are_no_longer_kept_stands_until_it_is_put_right(case: Case, heal: str | None) -> None:
    if heal == "undo" and heal not in case.healed_by:
        pytest.skip("nothing is to be undone")
    if heal == "restore" and case.code in ENDED_BY_RESTORE:
        pytest.skip("only the version that is gone shows that the table is as before")
    table, version = damaged(case, lambda table: table)
    if heal is None:
        (case.then or carry_on)(table)
    else:
        HEALS[heal](case, table, version)
    whole = errors(told(Kept(table.commits))[0])
    for found in cleaned_up(table, version, version, table.version):
        assert errors(found) == whole


@each_kind
def test_damage_is_not_forgotten_though_the_log_no_longer_leads_on_from_the_last_audit(case: Case) -> None:
    table, version = damaged(case, lambda table: table)
    table.set_properties(owner="a").set_properties(owner="b")
    whole, first = errors(told(Kept(table.commits))[0]), table.version
    found, again = cleaned_up(table, version, first, first)
    assert verdict(found) is (Verdict.VIOLATED if whole else Verdict.UNDETERMINED)
    assert (errors(found), errors(again)) == (whole, whole)


# -- memories of older releases -------------------------------------------------------------------


def of_older_release(memory: AuditState) -> AuditState:
    return AuditState.from_json({key: value for key, value in memory.to_json().items() if key != "facts"})


@each_kind
def test_what_an_older_release_remembered_will_do_where_the_log_is_whole(case: Case) -> None:
    table, version = damaged(case)
    whole = told(Kept(table.commits))[0]
    for cut in (version - 1, version):
        _, memory, _ = told(Kept(table.commits[: cut + 1]))
        found = told(Kept(table.commits), of_older_release(memory))[0]
        assert seen(found, cut) == seen(whole, cut)


@pytest.mark.parametrize(
    ("history", "rules"),
    [
        (histories.mapped, "CM16"),
        (histories.tracking_usage, "CM16, UT04"),
        (histories.plain, None),
        (histories.legacy, None),
        (histories.tracked, None),
    ],
)
def test_what_nobody_remembers_is_said_once_where_it_matters(history: Callable[[], Table], rules: str | None) -> None:
    table = history()
    cut = table.version
    _, memory, _ = told(Kept(table.commits))
    storage = Kept(table.append().commits).clean_up(table, cut)
    found, memory, _ = told(storage, of_older_release(memory))
    said = [] if rules is None else [("LG01", Severity.UNDECIDED)]
    assert [(finding.code, finding.severity) for finding in found] == said
    assert all(f"too little for {rules}. The log no longer has" in finding.message for finding in found)
    assert told(storage, memory)[0] == []


# -- what is written to the log, or taken from it, after an audit -----------------------------------

CHECKSUM = {"tableSizeBytes": 1, "numFiles": 1, "numMetadata": 1, "numProtocol": 1}


def late_checkpoint(storage: Kept, table: Table) -> None:
    storage.files[storage.checkpoint(table, 3)] = b"{"


def late_checksum(storage: Kept, table: Table) -> None:
    state = {"metadata": table.state(4).metadata, "protocol": table.state(4).protocol}
    storage.files[checksum_name(4)] = json.dumps({**CHECKSUM, **state}).encode()


def late_compaction(storage: Kept, table: Table) -> None:
    storage.files[f"{1:020d}.{3:020d}.compacted.json"] = content_of(table.commits[1])


def lost_commit(storage: Kept, table: Table) -> None:
    storage.checkpoint(table, 4)
    del storage.files[commit_name(2)]


@pytest.mark.parametrize(
    ("change", "code"),
    [(late_checkpoint, "LG10"), (late_checksum, "LG08"), (late_compaction, "LG12"), (lost_commit, "LG02")],
)
def test_what_becomes_of_the_log_behind_an_audit_is_told_by_the_next(
    change: Callable[[Kept, Table], None], code: str
) -> None:
    table = histories.plain().append().append()
    _, memory, _ = told(Kept(table.commits))
    storage = Kept(table.append().commits)
    change(storage, table)
    found, memory, _ = told(storage, memory)
    assert [finding.code for finding in found] == [code]
    table.append()
    storage.files[commit_name(table.version)] = content_of(table.commits[-1])
    assert seen(told(storage, memory)[0], 0) == seen(found, 0)


@pytest.mark.parametrize("later", [None, 5], ids=["the newest", "hidden by a newer one"])
@pytest.mark.parametrize("known", [False, True], ids=["above all others", "below a known one"])
def test_checkpoint_that_is_written_late_is_compared_whatever_others_there_are(later: int | None, known: bool) -> None:
    table = histories.plain().append().append()
    before = Kept(table.commits)
    if known:
        before.checkpoint(table, 4)
    _, memory, _ = told(before)
    storage = Kept(table.append().commits)
    storage.files |= before.files
    storage.checkpoint(table, 2)
    if later is not None:
        storage.checkpoint(table, later)
    assert told(storage, memory)[0] == []
    storage.files[classic_name(2)] = as_parquet(reconciled(table.commits[:2]))
    found, memory, _ = told(storage, memory)
    assert [(finding.code, finding.path) for finding in found] == [("LG07", f"_delta_log/{classic_name(2)}")]
    assert [finding.code for finding in told(storage, memory)[0]] == ["LG07"]


def test_checkpoints_that_an_older_release_knew_are_not_compared_again() -> None:
    table = histories.plain().append().append()
    storage = Kept(table.commits)
    for version in (2, 4):
        storage.checkpoint(table, version)
    _, memory, _ = told(storage)
    wire = memory.to_json()
    wire["facts"] |= {"checkpoint": max(wire["facts"].pop("checkpoints"))}
    memory = AuditState.from_json(wire)
    storage.files[classic_name(2)] = b"{"
    table.append()
    storage.files[commit_name(5)] = content_of(table.commits[5])
    assert told(storage, memory)[0] == []


# -- what is remembered ---------------------------------------------------------------------------


def test_of_each_rule_that_looks_back_it_is_known_what_it_needs() -> None:
    families = {"TF", "MD", "CM", "UT", "TW", "RT", "LG", "AC"}
    looks_back = {Scope.PAIR, Scope.HISTORY}
    rules = {rule.code for rule in RULES.values() if rule.scope in looks_back and rule.code[:2] in families}
    # RT30 is not a rule of audits, and LG13 is about the audit itself.
    assert {code for code in rules if not RULES[code].needs} == {"RT30", "LG13"}


def live(path: str, number: int) -> LiveFile:
    vector = DeletionVector("u", "ab" * 10, 1, 2, number % 3) if number % 3 else None
    rows = None if number % 5 == 0 else number * 10**6
    return LiveFile(path, number, number if number % 2 else None, None, rows, vector)


def test_file_that_is_remembered_is_found_with_its_rows_by_the_values_that_a_remove_repeats() -> None:
    files = [live(path, number) for number, path in enumerate([*map("part-{}.parquet".format, range(999)), "\ud800"])]
    known = NO_FILES.and_also(files[:500])
    assert known is not None
    again = FileRecords.from_json(known.to_json(), 500).and_also(files[500:])
    assert again is not None
    assert len(again) == 1000
    for file in files:
        assert again.find(file._replace(num_records=None)) == file
        assert again.find(file._replace(size=-1)) is None
        assert again.find(file._replace(base_row_id=-1)) is None
        assert again.number_of(file.path) == 1
    assert not any(again.number_of(f"other-{file.path}") for file in files)
    rest = again.without(files[::2])
    assert [rest.find(file) is None for file in files] == [True, False] * 500
    assert rest == NO_FILES.and_also(files[1::2])
    assert again.without(files) == NO_FILES == FileRecords.from_json(NO_FILES.to_json(), 0)


def test_files_with_one_digest_are_not_found_and_a_damaged_list_is_refused() -> None:
    file = live("a", 1)
    known = NO_FILES.and_also([file, file])
    assert known is not None
    assert known.find(file) is None
    assert NO_FILES.and_also([file._replace(num_records=-1)]) is None
    for wire in (known.to_json()[:-8], known.to_json()[4:], "AAAA"):
        with pytest.raises(ValueError, match=r"decompressed|need"):
            FileRecords.from_json(wire, 2)


def test_remembered_files_need_at_most_sixteen_bytes_each() -> None:
    files = [
        LiveFile(f"part-{number:05d}-{uuid4()}.parquet", 10**8 + number, number * 10**5, number, 10**5 + number)
        for number in range(20_000)
    ]
    known = NO_FILES.and_also(files)
    assert known is not None
    assert len(known.to_json()) < 16 * len(files)


def test_of_too_many_files_no_path_is_remembered_and_they_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_records, "MOST", 2)
    table = histories.plain()
    _, memory, _ = told(Kept(table.commits))
    assert memory.facts is not None
    assert memory.facts.files is not None
    assert (memory.facts.files.number, memory.facts.files.known) == (3, None)
    table.damaged(edits.added(path=table.paths[0], size=1)).append()
    assert [finding.code for finding in told(Kept(table.commits), memory)[0]] == ["AC15"]


def test_of_a_violation_of_many_files_some_are_remembered_and_it_stands() -> None:
    violation = OpenViolation.of(Finding("AC08", Severity.ERROR, "x"), map(str, range(5000)))
    assert len(violation.paths) == 1001
    assert OpenViolation.from_json(json.loads(json.dumps(violation.to_json())), {}) == violation
