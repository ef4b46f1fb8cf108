from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.check_options import CheckRowTrackingOptions
from tests.tables.row_tracking_model import Model

pytestmark = pytest.mark.nightly

#: Tables of one run of the job.
BATCH = 8
#: Which of twelve rows, or files, an operation is about.
CONCERNED = st.frozensets(st.integers(0, 11), min_size=1, max_size=6)
OPERATION = st.one_of(
    st.tuples(st.just("insert"), st.lists(st.integers(0, 5), min_size=1, max_size=3)),
    st.tuples(st.just("update"), CONCERNED, st.booleans(), st.integers(0, 2)),
    st.tuples(st.just("delete"), CONCERNED, st.booleans()),
    st.tuples(st.just("optimize"), CONCERNED),
    st.tuples(st.just("restore"), st.integers(0, 9)),
)
DAMAGE = st.one_of(
    st.tuples(st.just("id"), st.integers(0, 99), st.integers(0, 99), st.integers(-2, 60) | st.none()),
    st.tuples(st.just("id of another"), st.integers(0, 99), st.integers(0, 99), st.integers(0, 99)),
    st.tuples(st.just("column"), st.integers(0, 99)),
    st.tuples(st.just("base"), st.integers(0, 99), st.integers(-5, 5)),
    st.tuples(st.just("mark"), st.integers(-6, 6)),
    st.tuples(st.just("undelete"), st.integers(0, 99), st.integers(0, 99)),
)
LAYOUT = st.fixed_dictionaries(
    {
        "row_group_size": st.sampled_from([1, 2, 3, 1000]),
        "compression": st.sampled_from(["none", "snappy", "zstd"]),
        "use_dictionary": st.booleans(),
        "write_statistics": st.booleans(),
    }
)


def built(operations):
    model = Model()
    model.insert([4, 3])
    model.update(lambda row_id: row_id in (1, 5), vectors=True)
    for name, *arguments in operations:
        if name == "insert":
            model.insert(*arguments)
        elif name == "restore":
            model.restore(1 + arguments[0])
        else:

            def concerned(number, numbers=arguments[0]):
                return number % 12 in numbers

            if name == "optimize":
                model.optimize(concerned)
            elif name == "update":
                model.update(concerned, vectors=arguments[1], inserted=arguments[2])
            else:
                model.delete(concerned, vectors=arguments[1])
    model.settle()
    return model


def damaged(model, damages):
    for kind, *numbers in damages:
        files = list(model.files.values())
        holding = [file for file in files if file.ids]
        vectors = [file for file in files if file.deleted]
        if kind == "mark":
            model.set_mark(model.mark + numbers[0])
        elif kind == "base" and files:
            file = files[numbers[0] % len(files)]
            model.set_base(file, max(file.base + numbers[1], 0))
        elif kind == "column" and holding:
            holding[numbers[0] % len(holding)].ids = None
        elif kind == "id" and holding:
            file = holding[numbers[0] % len(holding)]
            file.ids[numbers[1] % file.rows] = numbers[2]
        elif kind == "id of another" and holding and model.row_ids():
            file = holding[numbers[0] % len(holding)]
            file.ids[numbers[1] % file.rows] = model.row_ids()[numbers[2] % len(model.row_ids())]
        elif kind == "undelete" and vectors:
            file = vectors[numbers[0] % len(vectors)]
            model.set_deleted(file, file.deleted - {sorted(file.deleted)[numbers[1] % len(file.deleted)]})
        else:
            continue
        event(kind)


TABLE = st.tuples(st.lists(OPERATION, max_size=6), st.just([]) | st.lists(DAMAGE, min_size=1, max_size=2), LAYOUT)


@pytest.fixture(scope="module")
def directories(tmp_path_factory):
    numbers = itertools.count()
    root = tmp_path_factory.mktemp("random")
    return lambda: root / str(next(numbers))


# A failure names the table; to make it smaller takes longer than to understand it.
@settings(max_examples=7, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(tables=st.tuples(*[TABLE] * BATCH))
def test_verdict_is_that_of_looking_at_every_row(run_job, directories, tables):
    models, paths = [], []
    for operations, damages, layout in tables:
        models.append(built(operations))
        assert models[-1].codes() == set()
        damaged(models[-1], damages)
        paths.append(directories())
        models[-1].write(paths[-1], **layout)
    reports = run_job(paths, CheckRowTrackingOptions(level="data")).tables
    for table, model, report in zip(tables, models, reports):
        found, expected = {finding.code for finding in report.findings}, model.codes()
        event(", ".join(sorted(expected)) or "clean")
        if expected == {"RT19"}:
            ids = model.row_ids()
            said = [int(f.message.split(" ")[0].replace(",", "")) for f in report.findings if f.code == "RT19"]
            assert (table, sum(said)) == (table, len(ids) - len(set(ids)))
        if "RT08" in expected:  # of which ids that are not unique are the consequence
            expected, found = expected - {"RT19"}, found - {"RT19"}
        assert (table, found, report.verdict, report.evidence["rows"]) == (
            table,
            expected,
            Verdict.VIOLATED if expected else Verdict.PASS,
            len(model.row_ids()),
        )


def test_model_writes_tables_that_spark_reads_as_the_model_says(spark, directories):
    model = built(
        [
            ("update", {0, 2, 4}, True, 2),
            ("delete", {6}, True),
            ("insert", [0, 5, 1]),
            ("optimize", {0, 4, 7, 8}),
            ("update", {0, 7, 8}, False, 1),
            ("delete", {1}, False),
            ("restore", 4),
            ("update", {1, 9}, True, 0),
        ]
    )
    path = directories()
    model.write(path, row_group_size=2)
    ids = [row[0] for row in spark.sql(f"SELECT _metadata.row_id FROM delta.`{path}`").collect()]
    assert sorted(ids) == sorted(model.row_ids())
    assert model.codes() == set()
