from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.report.transport import PREFIX, MarkerReader, is_marker, marker_lines

NONCE, FOREIGN = "0a1b2c3d", "ffff0000"
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def read(lines, nonce=NONCE):
    reader = MarkerReader(nonce)
    return reader, [pair for line in lines for pair in reader.feed(line)]


def long_document(seed: int, size: int = 12_000) -> list[int]:
    """A document that compression leaves several lines long."""
    rng = random.Random(seed)
    return [rng.getrandbits(31) for _ in range(size // 10)]


@given(documents)
def test_document_sent_arrives_as_it_was(document):
    reader, got = read(marker_lines("report", NONCE, document))
    assert got == [("report", document)]
    assert (reader.torn, reader.foreign) == (0, 0)


def test_lines_stay_below_the_size_that_a_pipe_writes_at_once():
    lines = list(marker_lines("report", NONCE, long_document(1)))
    assert len(lines) > 3
    assert max(len(line) for line in lines) < 4096 - 100


@given(st.randoms(use_true_random=False), st.lists(st.text(st.characters(codec="utf-8")), max_size=8))
def test_lines_in_any_order_between_noise_and_with_noise_around_them_arrive(rng, noise):
    document = long_document(2)
    lines = list(marker_lines("report", NONCE, document))
    rng.shuffle(lines)
    mixed = [f"{rng.choice(noise or [''])}{line}{rng.choice(noise or [''])}" for line in lines] + noise
    assert read(mixed)[1][:1] == [("report", document)]


def test_two_lines_run_together_into_one_are_both_read():
    lines = list(marker_lines("report", NONCE, long_document(3)))
    glued = ["".join(lines[:2]), *lines[2:]]
    reader, got = read(glued)
    assert got == [("report", long_document(3))]
    assert reader.torn == 0


@given(st.integers(0, 10_000), st.integers(1, 200))
def test_copy_with_any_line_cut_is_made_good_by_the_second_copy(where, removed):
    document = long_document(4)
    lines = list(marker_lines("report", NONCE, document))
    index = where % len(lines)
    line = lines[index]
    cut = where % (len(line) - removed) if len(line) > removed else 0
    lines[index] = line[:cut] + line[cut + removed :]
    reader, once = read(lines)
    assert once == []
    twice = [pair for line in marker_lines("report", NONCE, document) for pair in reader.feed(line)]
    assert twice == [("report", document)]


def test_line_torn_in_two_by_a_foreign_line_is_counted_and_gives_nothing():
    (line,) = marker_lines("report", NONCE, {"a": 1})
    reader, got = read([line[:60], "26/11/21 WARN TaskSetManager: lost", line[60:]])
    assert got == []
    assert reader.torn == 1


def test_flipped_character_in_the_payload_is_refused():
    (line,) = marker_lines("report", NONCE, {"verdict": "PASS"})
    flipped = line[:-6] + ("A" if line[-6] != "A" else "B") + line[-5:]
    reader, got = read([flipped])
    assert got == []
    assert reader.torn == 1


def test_document_of_another_submission_is_refused_and_counted():
    reader, got = read(marker_lines("report", FOREIGN, {"verdict": "PASS"}))
    assert got == []
    assert reader.foreign == 1


def test_lines_of_two_documents_on_one_channel_are_never_joined():
    first, second = (list(marker_lines("progress", NONCE, long_document(seed))) for seed in (5, 6))
    assert len(first) == len(second)
    reader, got = read([*first[1:], second[0]])  # the first document lost its first line
    assert got == []
    assert [pair for line in second[1:] for pair in reader.feed(line)] == [("progress", long_document(6))]


def test_document_sent_twice_is_given_twice_so_that_the_last_one_may_win():
    lines = list(marker_lines("report", NONCE, {"n": 1})) * 2
    assert read(lines)[1] == [("report", {"n": 1})] * 2


@pytest.mark.parametrize(
    ("line", "ours"),
    [
        ("INFO SparkContext: Running Spark version 4.2.0", False),
        ("", False),
        (f"noise {PREFIX}report:0a", True),
    ],
)
def test_lines_are_told_apart_by_their_prefix(line, ours):
    assert is_marker(line) is ours
