from __future__ import annotations

import json

import pytest

from airflow_delta_provider.domain.report.report import Verdict
from tests.tables import log
from tests.tables.checkpoints import checkpointed
from tests.tables.open_features import OPEN_FEATURES
from tests.tables.protocols import (
    legacy,
    mappable,
    mapped_by_id,
    modern,
    supported_row_tracking,
    suspended_row_tracking,
)

ALONE = [(name,) for name in OPEN_FEATURES]
TOGETHER = [
    ("typeWidening", "rowTracking", "deletionVectors"),
    ("columnMapping", "changeDataFeed", "appendOnly"),
    ("domainMetadata", "vacuumProtocolCheck", "timestampNtz", "v2Checkpoint"),
    OPEN_FEATURES,
]
OTHERS = [
    ("checkConstraints",),
    ("invariants",),
    ("generatedColumns",),
    ("identityColumns",),
    ("allowColumnDefaults",),
    ("materializePartitionColumns",),
    ("variantType",),
    ("variantShredding",),
]


#: Features that the protocol of a table has already, by itself or as one that it implies.
THERE = {mappable: ("appendOnly", "changeDataFeed", "columnMapping"), modern: ("deletionVectors",)}
#: Row tracking takes long, since it is backfilled: beside others, one legacy and one modern table get it.
BACKFILLED, *QUICK, EVERY = TOGETHER
NIGHTLY = pytest.mark.nightly
CASES = [(legacy, EVERY), (modern, BACKFILLED)]
CASES += [pytest.param(legacy, features, marks=NIGHTLY) for features in [*ALONE, *QUICK, *OTHERS]]
CASES += [pytest.param(legacy, BACKFILLED, marks=pytest.mark.soak)]
CASES += [pytest.param(mappable, features, marks=pytest.mark.soak) for features in (BACKFILLED, EVERY)]
CASES += [pytest.param(modern, EVERY, marks=pytest.mark.soak)]
for other, there in THERE.items():
    CASES += [pytest.param(other, (name,), marks=NIGHTLY) for name in there]
    CASES += [pytest.param(other, features, marks=NIGHTLY) for features in QUICK]
    # In company they are above; alone they do to a table what they do to a legacy one.
    CASES += [pytest.param(other, (name,), marks=pytest.mark.soak) for name in OPEN_FEATURES if name not in there]


@pytest.mark.parametrize(
    ("builder", "features"), CASES, ids=lambda value: "+".join(value) if isinstance(value, tuple) else value.__name__
)
def test_features_enabled_give_the_protocol_of_the_plan_and_a_second_run_changes_nothing(
    table, enable, builder, features
):
    path = table(builder)
    before, version = log.contents(path), log.newest(path)

    planned = enable(path, *features, dry_run=True)
    assert (planned.verdict, planned.changed, planned.findings) == (Verdict.PASS, False, ())
    assert log.contents(path) == before

    done = enable(path, *features)
    assert (done.verdict, done.findings) == (Verdict.PASS, ())
    assert done.protocol_before == planned.protocol_before
    assert log.protocol(path) == planned.protocol_after == done.protocol_after
    assert done.changed == bool(planned.plan["steps"])
    assert log.newest(path) == done.version == version + planned.plan["commits"]

    after = log.contents(path)
    again = enable(path, *features, allow=False)
    assert (again.verdict, again.changed, again.version) == (Verdict.PASS, False, done.version)
    assert again.plan["steps"] == []
    assert log.contents(path) == after


# -- refusals and permissions ---------------------------------------------------------------------


def test_upgrade_that_was_not_allowed_is_refused_with_the_plan_and_nothing_changes(table, enable):
    path = table(legacy)
    before = log.contents(path)
    report = enable(path, "typeWidening", "rowTracking", allow=False)
    assert (report.verdict, report.changed, report.retryable) == (Verdict.REFUSED, False, False)
    assert [finding.code for finding in report.findings] == ["RQ09"]
    assert "which enables domainMetadata, rowTracking, typeWidening" in report.findings[0].message
    assert report.protocol_after["writerFeatures"] == [
        "appendOnly",
        "domainMetadata",
        "invariants",
        "rowTracking",
        "typeWidening",
    ]
    assert len(report.plan["steps"]) == 1
    assert log.contents(path) == before


@pytest.mark.parametrize(
    ("features", "options", "code", "message"),
    [
        (("typeWidning",), {}, "RQ06", "Did you mean 'typeWidening'"),
        (("clustering",), {}, "RQ07", "ALTER TABLE … CLUSTER BY"),
        (("typeWidening-preview",), {}, "RQ07", "allow_special=True"),
        (("catalogManaged",), {}, "RQ07", "allow_special=True"),
        (
            ("columnMapping",),
            {"properties": {"delta.columnMapping.mode": "id"}},
            "RQ08",
            "cannot be reached from 'none'",
        ),
        (("columnMapping",), {"properties": {"delta.columnMapping.maxColumnId": "9"}}, "RQ08", "writers maintain"),
        (("appendOnly",), {"properties": {"delta.enableIcebergCompatV2": "true"}}, "RQ08", "needs allow_special"),
    ],
)
def test_request_that_is_wrong_is_refused_and_nothing_changes(table, enable, features, options, code, message):
    path = table(legacy)
    before = log.contents(path)
    report = enable(path, *features, **options)
    assert (report.verdict, report.changed) == (Verdict.REFUSED, False)
    assert [finding.code for finding in report.findings] == [code]
    assert message in report.findings[0].message
    assert log.contents(path) == before


def test_preview_is_enabled_where_special_features_are_allowed(table, enable):
    path = table(legacy)
    report = enable(path, "typeWidening-preview", allow_special=True)
    assert report.verdict is Verdict.PASS
    assert log.protocol(path)["readerFeatures"] == ["typeWidening-preview"]


def test_iceberg_compatibility_comes_with_column_mapping_where_both_are_asked_for(table, enable):
    path = table(legacy)
    report = enable(path, "columnMapping", "icebergCompatV2", allow_special=True)
    assert report.verdict is Verdict.PASS
    assert log.protocol(path) == report.protocol_after
    assert log.configuration(path)["delta.enableIcebergCompatV2"] == "true"


def test_what_the_engine_refuses_is_a_refusal_in_its_words_and_nothing_changes(table, enable):
    path = table(legacy)
    before = log.contents(path)
    report = enable(path, "appendOnly", properties={"delta.universalFormat.enabledFormats": "iceberg"})
    assert (report.verdict, report.changed, report.retryable) == (Verdict.REFUSED, False, False)
    assert [finding.code for finding in report.findings] == ["RQ17"]
    assert "DELTA_UNIVERSAL_FORMAT_VIOLATION" in report.findings[0].message
    assert log.contents(path) == before


def test_feature_that_no_existing_table_can_get_is_a_refusal(table, enable):
    path = table(legacy)
    report = enable(path, "catalogManaged", allow_special=True)
    assert (report.verdict, report.changed, report.retryable) == (Verdict.REFUSED, False, False)
    assert log.newest(path) == 2


def test_mode_id_stays_where_the_table_has_it(table, enable):
    path = table(mapped_by_id)
    report = enable(path, "columnMapping", allow=False)
    assert (report.verdict, report.changed) == (Verdict.PASS, False)
    assert log.configuration(path)["delta.columnMapping.mode"] == "id"


# -- properties -----------------------------------------------------------------------------------


def test_properties_are_set_in_the_same_commit_by_the_names_that_delta_keeps(table, enable):
    path = table(legacy)
    properties = {"DELTA.checkpointINTERVAL": "7", "team's": 'it\'s \\ "x"'}
    report = enable(path, "changeDataFeed", properties=properties)
    assert report.findings == ()
    assert report.version == 3
    assert log.configuration(path) == {
        "delta.enableChangeDataFeed": "true",
        "delta.checkpointInterval": "7",
        "team's": 'it\'s \\ "x"',
    }
    assert enable(path, "changeDataFeed", properties=properties).changed is False


def test_property_that_brings_a_feature_shows_in_plan_and_protocol(table, enable):
    path = table(legacy)
    report = enable(path, "domainMetadata", properties={"delta.enabledeletionvectors": "true"})
    assert report.verdict is Verdict.PASS
    assert log.protocol(path) == report.protocol_after
    assert log.protocol(path)["readerFeatures"] == ["deletionVectors"]


# -- row tracking ---------------------------------------------------------------------------------


def live_files(path):
    """Return the last ``add`` of each path that no ``remove`` followed."""
    live = {}
    for _, actions in sorted(log.commits(path).items()):
        for action in actions:
            if "remove" in action:
                live.pop(action["remove"]["path"], None)
            if "add" in action:
                live[action["add"]["path"]] = action["add"]
    return list(live.values())


def test_row_tracking_gives_every_live_file_its_ids_and_every_row_one_of_its_own(table, enable, spark):
    path = table(legacy)
    report = enable(path, "rowTracking")
    assert report.plan["commits"] == 3  # upgrade, backfill, property
    assert all("baseRowId" in add and "defaultRowCommitVersion" in add for add in live_files(path))
    ids = spark.sql(f"SELECT _metadata.row_id FROM delta.`{path}`").collect()
    assert sorted(row[0] for row in ids) == [0, 1, 2, 3]


@pytest.mark.nightly
def test_backfill_in_several_batches_is_verified_as_one(table, enable, spark):
    path = table(legacy)
    spark.conf.set("spark.databricks.delta.backfill.maxNumFiles", "1")
    try:
        report = enable(path, "rowTracking")
    finally:
        spark.conf.unset("spark.databricks.delta.backfill.maxNumFiles")
    assert report.verdict is Verdict.PASS
    assert report.version == 6  # upgrade, two backfills, property
    assert {log.user_metadata(path, version)["plan_digest"] for version in range(3, 7)} == {report.plan["digest"]}


@pytest.mark.nightly
def test_files_that_have_ids_keep_them_where_row_tracking_was_supported_only(table, enable):
    path = table(supported_row_tracking)
    had = {add["path"]: add["baseRowId"] for add in live_files(path) if "baseRowId" in add}
    assert len(had) == 1
    report = enable(path, "rowTracking", allow=False)
    assert (report.verdict, report.findings) == (Verdict.PASS, ())
    now = {add["path"]: add["baseRowId"] for add in live_files(path)}
    assert len(now) == 3
    assert now.items() >= had.items()


@pytest.mark.nightly
def test_suspended_row_tracking_is_resumed_and_every_file_gets_its_ids(table, enable, spark):
    path = table(suspended_row_tracking)
    assert any("baseRowId" not in add for add in live_files(path))
    planned = enable(path, "rowTracking", dry_run=True, allow=False)
    report = enable(path, "rowTracking", allow=False)
    assert (report.verdict, report.findings) == (Verdict.PASS, ())
    assert log.protocol(path) == planned.protocol_after
    assert log.configuration(path)["delta.rowTrackingSuspended"] == "false"
    assert all("baseRowId" in add for add in live_files(path))
    assert spark.sql(f"SELECT count(DISTINCT _metadata.row_id) FROM delta.`{path}`").first()[0] == 5
    assert enable(path, "rowTracking").changed is False


@pytest.mark.nightly
def test_file_appended_between_plan_and_apply_gets_its_ids_as_well(table, enable, spark):
    path = table(legacy)
    lines = []

    def append_once(line):
        if not lines:
            spark.newSession().sql(f"INSERT INTO delta.`{path}` VALUES (9, 'late', NULL)")
        lines.append(line)

    report = enable(path, "rowTracking", progress=append_once)
    assert (report.verdict, report.findings, report.changed) == (Verdict.PASS, (), True)
    assert len(live_files(path)) == 3
    assert all("baseRowId" in add for add in live_files(path))


def test_file_without_ids_on_a_tracked_table_is_a_violation_that_names_it(table, enable, session):
    path = table(legacy)
    enable(path, "rowTracking")
    add = dict(live_files(path)[0])
    del add["baseRowId"], add["defaultRowCommitVersion"]
    log.commit(path, {"commitInfo": {"operation": "WRITE"}}, {"add": add})
    report = enable(path, "rowTracking")
    assert (report.verdict, report.changed) == (Verdict.VIOLATED, False)
    assert [(finding.code, finding.path) for finding in report.findings] == [("RT05", add["path"])]


# -- labels ---------------------------------------------------------------------------------------

USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("own", "kept"),
    [(None, {}), ('{"owner": "me", "dag_id": "theirs"}', {"owner": "me"}), ("free text", {"user": "free text"})],
)
def test_commits_carry_digest_and_labels_together_with_the_users_own(table, enable, spark, own, kept):
    path = table(legacy)
    labels = {"dag_id": "d", "run_id": "r", "task_id": "t", "map_index": -1}
    if own is not None:
        spark.conf.set(USER_METADATA, own)
    try:
        report = enable(path, "changeDataFeed", labels=labels)
        assert spark.conf.get(USER_METADATA, None) == own
    finally:
        spark.conf.unset(USER_METADATA)
    assert log.user_metadata(path, 3) == {**kept, **labels, "plan_digest": report.plan["digest"]}


# -- where the log starts at a checkpoint ---------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.parametrize(
    "kind",
    ["classic", "v2_json", *(pytest.param(kind, marks=pytest.mark.soak) for kind in ("multi_part", "v2_parquet"))],
)
def test_log_that_starts_at_a_checkpoint_is_read_with_its_files(table, enable, session, kind):
    path = table(checkpointed, kind=kind)
    assert 0 not in log.commits(path)
    state = session.open_table(str(path)).log.read_state(with_files=True)
    assert state.metadata.configuration["team"] == "a"
    assert len(state.files) == 5
    assert json.loads(state.domains["delta.rowTracking"])["rowIdHighWaterMark"] == 4
    assert {file.base_row_id for file in state.files.values()} == {0, 1, 2, 3, 4}

    planned = enable(path, "rowTracking", "typeWidening", dry_run=True)
    report = enable(path, "rowTracking", "typeWidening")
    assert (report.verdict, report.findings) == (Verdict.PASS, ())
    assert log.protocol(path) == planned.protocol_after
    assert session.spark.sql(f"SELECT count(DISTINCT _metadata.row_id) FROM delta.`{path}`").first()[0] == 5


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["classic", "v2_parquet"])
def test_checkpoint_in_a_directory_whose_name_looks_like_a_pattern_is_read(table, session, kind):
    path = table(checkpointed, name="t [a-z]{1}?", kind=kind)
    assert len(session.open_table(str(path)).log.read_state(with_files=True).files) == 5
