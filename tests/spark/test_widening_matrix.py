"""The whole matrix of type changes, against what Delta really accepts."""

from __future__ import annotations

from itertools import permutations

import pytest
from pyspark.errors import AnalysisException

from airflow_delta_provider.domain.delta.data_type import parse_type
from airflow_delta_provider.domain.delta.features.columns import can_widen
from tests.tables import log
from tests.tables.widening_pairs import ALL_TYPES, spec_allows

#: Delta's and Spark's ways to say that a type cannot be changed so.
_REJECTED = {"NOT_SUPPORTED_CHANGE_COLUMN", "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP"}
PAIRS = list(permutations(ALL_TYPES, 2))
#: Each type with two others, each of which is another one's.
SOME = [(ALL_TYPES[at], ALL_TYPES[(at + far) % len(ALL_TYPES)]) for at in range(len(ALL_TYPES)) for far in (1, 8)]


def create(spark, path, types):
    columns = ", ".join(f"c{index} {name}" for index, name in enumerate(types))
    spark.sql(
        f"CREATE TABLE delta.`{path}` ({columns}) USING delta TBLPROPERTIES "
        "('delta.enableTypeWidening' = 'true', 'delta.feature.timestampNtz' = 'supported')"
    )


def test_every_pair_that_the_domain_calls_legal_is_accepted_all_in_one_commit(spark, tmp_path):
    legal = [pair for pair in PAIRS if can_widen(*map(parse_type, pair))]
    assert len(legal) == sum(spec_allows(*pair) for pair in PAIRS) > 60
    path = tmp_path / "t"
    create(spark, path, [old for old, _ in legal])
    changes = ", ".join(f"c{index} TYPE {new}" for index, (_, new) in enumerate(legal))
    spark.sql(f"ALTER TABLE delta.`{path}` ALTER COLUMN {changes}")
    assert log.newest(path) == 1
    assert [row.data_type for row in spark.sql(f"DESCRIBE delta.`{path}`").collect()] == [new for _, new in legal]


def test_every_pair_is_what_delta_itself_calls_it(spark):
    widening = spark._jvm.org.apache.spark.sql.delta.TypeWidening
    parse = spark._jvm.org.apache.spark.sql.types.DataType.fromDDL
    types = {name: parse(name) for name in ALL_TYPES}
    supported = {pair for pair in PAIRS if widening.isTypeChangeSupported(*(types[name] for name in pair))}
    assert supported == {pair for pair in PAIRS if can_widen(*map(parse_type, pair))}


@pytest.mark.parametrize("pairs", [SOME, pytest.param(PAIRS, marks=pytest.mark.soak)], ids=["some", "all"])
def test_pairs_that_the_domain_calls_illegal_are_rejected(spark, tmp_path, pairs):
    path = tmp_path / "t"
    create(spark, path, ALL_TYPES)
    illegal = [pair for pair in pairs if not can_widen(*map(parse_type, pair))]
    assert {old for old, _ in illegal} == {new for _, new in illegal} == set(ALL_TYPES)
    for old, new in illegal:
        with pytest.raises(AnalysisException) as caught:
            spark.sql(f"ALTER TABLE delta.`{path}` ALTER COLUMN c{ALL_TYPES.index(old)} TYPE {new}")
        assert (caught.value.getCondition() or "").split(".")[0] in _REJECTED, (old, new)
    assert log.newest(path) == 0
