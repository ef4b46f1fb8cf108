"""Which paths patterns cover."""

from __future__ import annotations

import pytest

from airflow_delta_provider.domain.table_name import PathPattern


@pytest.mark.parametrize(
    ("pattern", "covered", "not_covered"),
    [
        ("/lake/**", ("/lake", "/lake/a", "/lake/a/b/c"), ("/lakes", "/other/lake", "/")),
        ("/lake/tmp", ("/lake/tmp", "/lake/tmp/a/b"), ("/lake/tmpx", "/lake", "/lake/a/tmp")),
        ("/lake/*/raw", ("/lake/a/raw", "/lake/a/raw/t"), ("/lake/raw", "/lake/a/b/raw")),
        ("/lake/**/raw", ("/lake/raw", "/lake/a/b/raw", "/lake/a/raw/t"), ("/lake/a", "/lake/rawx")),
        ("/lake/**/*_tmp", ("/lake/a_tmp", "/lake/x/y/a_tmp/t"), ("/lake/a_tmpx",)),
        ("s3://lake/t[12]", ("s3://lake/t1", "s3://lake/t2/x"), ("s3://lake/t3", "s3://lake")),
        ("/lake/**/a/**/b", ("/lake/a/b", "/lake/x/a/y/z/b/t"), ("/lake/b/a", "/lake/a")),
    ],
)
def test_a_pattern_covers_what_fits_it_and_what_lies_below(pattern, covered, not_covered):
    parsed = PathPattern(pattern)
    assert [path for path in covered if not parsed.covers(path)] == []
    assert [path for path in not_covered if parsed.covers(path)] == []
