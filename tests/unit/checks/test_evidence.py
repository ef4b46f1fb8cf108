from __future__ import annotations

import pytest

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.rule import Prose, sentence


def test_names_start_no_line_and_move_no_cursor_in_a_sentence():
    assert sentence("{name} of {names}", {"name": "a\nb", "names": ["c\x1b[1m", "d\u202e"]}) == (
        r"a\nb of c\x1b[1m, d\u202e"
    )
    found = requests.ILLEGAL_NAME.found("{column} cannot be a name.", column="x\ny")
    assert found.message.startswith(r"x\ny cannot be a name.")
    assert found.column == "x\ny"


def test_prose_keeps_its_lines():
    assert sentence("It says: {why}", {"why": Prose("one\ntwo")}) == "It says: one\ntwo"


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "0 days"),
        (1, "1 day"),
        (1.0, "1 day"),
        (3.5, "3.5 days"),
        (12345, "12,345 days"),
        (12345.25, "12,345.25 days"),
        (None, "an unknown number of days"),
        ("some", "some days"),
    ],
)
def test_whatever_is_counted_is_followed_by_its_noun(number, said):
    assert sentence("{days:day}", {"days": number}) == said
    assert sentence("{days:day|days}", {"days": number}) == said
