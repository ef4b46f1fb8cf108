"""Row ids that are too many to be compared in the driver: Spark finds what the driver finds."""

from __future__ import annotations

import random
import zlib
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.domain.checks.row_tracking.id_sets import DriverLimits
from airflow_delta_provider.domain.delta.deletion_vector import DeletionVector, inline_bitmap
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.jobs.delta.session import DeltaFiles
from airflow_delta_provider.jobs.row_tracking.row_proofs import survey
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.row_tracking.uniqueness import Proof, prove
from tests.tables.row_tracking_model import DataFile, Model

pytestmark = pytest.mark.nightly

NOTHING_FITS = DriverLimits(0, 0, 0)


def tracked() -> Model:
    """Files with fresh ids, materialized ids, both, with and without deletion vectors; ids of many buckets."""
    model = Model()
    model.insert([40_000, 60_000, 100, 1])
    model.update(lambda row_id: row_id % 1000 == 7, vectors=True, inserted=50)
    model.insert([33_000])
    model.update(lambda row_id: row_id % 500 == 7, vectors=True)
    model.delete(lambda row_id: 70 <= row_id < 110 or row_id == 99_000, vectors=True)
    model.optimize(lambda base: 100_000 <= base < 100_101)
    model.settle()
    return model


def holding(model: Model) -> list[DataFile]:
    return [file for file in model.files.values() if file.ids]


def fresh(model: Model) -> list[DataFile]:
    return [file for file in model.files.values() if not file.ids]


def nothing(model: Model) -> None:
    del model


def twice_materialized(model: Model) -> None:
    one, other = holding(model)[0], holding(model)[-1]
    assert one.ids
    assert other.ids
    other.ids[other.live()[0]] = one.id_at(one.live()[-1])


def twice_in_one_file(model: Model) -> None:
    file = next(file for file in holding(model) if len(file.live()) > 1)
    assert file.ids
    file.ids[file.live()[0]] = file.id_at(file.live()[1])


def on_a_fresh_row_beside_materialized_ones(model: Model) -> None:
    mixed = next(file for file in holding(model) if file.ids and None in file.ids)
    other = holding(model)[-1]
    assert mixed.ids
    assert other.ids
    assert mixed is not other
    other.ids[other.live()[0]] = mixed.base + mixed.ids.index(None)


def on_rows_of_fresh_files(model: Model) -> None:
    for number, file in enumerate(fresh(model)):
        ids = holding(model)[number % 2]
        assert ids.ids
        ids.ids[ids.live()[number]] = file.base + file.live()[-1]


def on_rows_that_no_vector_deletes_any_more(model: Model) -> None:
    for file in fresh(model):
        if file.deleted:
            model.set_deleted(file, frozenset())


def negative_and_above(model: Model) -> None:
    for file, row_id in zip(holding(model), (-1, model.mark + 1)):
        assert file.ids
        file.ids[file.live()[0]] = row_id


def far_above_and_far_below(model: Model) -> None:
    for file, row_id in zip(holding(model), (-(1 << 63), (1 << 63) - 1)):
        assert file.ids
        file.ids[file.live()[0]] = row_id


def without_a_mark_that_counts(model: Model) -> None:
    model.set_mark(90)


def damaged_at_random(model: Model, seed: int) -> None:
    chance = random.Random(seed)
    everything = model.row_ids()
    for file in holding(model):
        assert file.ids
        for _ in range(chance.randrange(3)):
            file.ids[chance.randrange(file.rows)] = chance.choice([None, -5, model.mark + 9, *everything])
    for file in list(model.files.values()):
        if file.deleted and chance.random() < 0.4:
            model.set_deleted(file, frozenset(sorted(file.deleted)[chance.randrange(3) :]))


def vectors_in_a_file(model: Model, file: Path) -> None:
    """Move the deletion vectors from the log into one file."""
    content = bytearray(b"\x01")
    moved: dict[str, dict[str, Any]] = {}
    for actions in model.commits:
        for body in (action.get("add") or action.get("remove") or {} for action in actions):
            if wire := body.get("deletionVector"):
                vector = DeletionVector.from_json(wire)
                if wire["pathOrInlineDv"] not in moved:
                    bitmap = inline_bitmap(vector)
                    place = {"storageType": "p", "pathOrInlineDv": file.as_uri(), "offset": len(content)}
                    moved[wire["pathOrInlineDv"]] = {**wire, **place}
                    content += len(bitmap).to_bytes(4, "big") + bitmap + zlib.crc32(bitmap).to_bytes(4, "big")
                body["deletionVector"] = moved[wire["pathOrInlineDv"]]
    file.write_bytes(content)


def proofs(session: SparkDeltaSession, path: Path) -> tuple[Proof, Proof]:
    """Return what the driver finds, and what Spark finds."""
    table = session.open_table(str(path))
    state = table.log.read_state(with_files=True)
    tracking = state.row_tracking
    data = DeltaFiles(session.storage, table.location)
    files: list[LiveFile] = list((state.files or {}).values())
    surveyed = survey(data, files, tracking.row_id_column)
    one, other = (prove(session, data, files, surveyed, tracking, limits) for limits in (DriverLimits(), NOTHING_FITS))
    return one, other


@pytest.mark.parametrize(
    ("damage", "codes"),
    [
        (nothing, []),
        pytest.param(twice_materialized, ["RT19"], marks=pytest.mark.soak),
        pytest.param(twice_in_one_file, ["RT19"], marks=pytest.mark.soak),
        (on_a_fresh_row_beside_materialized_ones, ["RT19"]),
        pytest.param(on_rows_of_fresh_files, ["RT19"], marks=pytest.mark.soak),
        pytest.param(on_rows_that_no_vector_deletes_any_more, ["RT19"], marks=pytest.mark.soak),
        (negative_and_above, ["RT21"]),
        pytest.param(far_above_and_far_below, ["RT21"], marks=pytest.mark.soak),
        pytest.param(without_a_mark_that_counts, [], marks=pytest.mark.soak),
    ],
)
def test_spark_finds_what_the_driver_finds(session, tmp_path, damage, codes):
    model = tracked()
    damage(model)
    model.write(tmp_path / "t", row_group_size=10_000)
    driver, spark = proofs(session, tmp_path / "t")
    assert sorted({finding.code for finding in driver.findings}) == codes
    assert spark == driver


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 20))])
def test_spark_finds_what_the_driver_finds_at_random(session, tmp_path, seed):
    model = tracked()
    damaged_at_random(model, seed)
    vectors_in_a_file(model, tmp_path / "a b[1].bin")
    model.write(tmp_path / "t", write_statistics=bool(seed % 2))
    driver, spark = proofs(session, tmp_path / "t")
    assert {finding.code for finding in driver.findings} == model.codes()
    assert spark == driver


@pytest.mark.parametrize("held", [True, pytest.param(False, marks=pytest.mark.soak)])
def test_deletion_vector_that_cannot_be_read_is_named_by_both(session, tmp_path, held):
    model = tracked()
    file = next(file for file in model.files.values() if file.deleted and bool(file.ids) is held)
    *_, last = (a["add"] for actions in model.commits for a in actions if a.get("add", {}).get("path") == file.name)
    last["deletionVector"] = {**last["deletionVector"], "cardinality": last["deletionVector"]["cardinality"] + 1}
    model.write(tmp_path / "t")
    driver, spark = proofs(session, tmp_path / "t")
    assert [(finding.path, "the log says" in finding.message) for finding in driver.findings] == [(file.name, True)]
    assert spark == driver


def test_missing_file_of_deletion_vectors_is_named_by_both(session, tmp_path):
    model = tracked()
    vectors_in_a_file(model, tmp_path / "vectors.bin")
    model.write(tmp_path / "t")
    (tmp_path / "vectors.bin").unlink()
    driver, spark = proofs(session, tmp_path / "t")
    assert {finding.path for finding in driver.findings} == {f.name for f in model.files.values() if f.deleted}
    assert spark == driver
