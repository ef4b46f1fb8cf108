"""The whole matrix of type changes, against what Delta really accepts."""

from __future__ import annotations

from itertools import permutations

import pytest
from pyspark.errors import AnalysisException

from airflow_delta_provider.domain.delta.data_type import parse_type
from airflow_delta_provider.domain.delta.type_widening import can_widen
from tests.tables import log
from tests.tables.widening_pairs import ALL_TYPES, spec_allows

#: Delta's and Spark's ways to say that a type cannot be changed so.
_REJECTED = {"NOT_SUPPORTED_CHANGE_COLUMN", "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP"}
PAIRS = list(permutations(ALL_TYPES, 2))


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


def test_every_pair_that_the_domain_calls_illegal_is_rejected(spark, tmp_path):
    path = tmp_path / "t"
    create(spark, path, ALL_TYPES)
    for old, new in PAIRS:
        if not can_widen(parse_type(old), parse_type(new)):
            with pytest.raises(AnalysisException) as caught:
                spark.sql(f"ALTER TABLE delta.`{path}` ALTER COLUMN c{ALL_TYPES.index(old)} TYPE {new}")
            assert (caught.value.getCondition() or "").split(".")[0] in _REJECTED, (old, new)
    assert log.newest(path) == 0
