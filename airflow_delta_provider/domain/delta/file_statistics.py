"""Statistics of a file, as two engines may write the same ones. PROTOCOL.md, Per-file Statistics."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from math import isclose
from typing import Any

from airflow_delta_provider.domain.formats.json_values import parse_json

_LEAVES = ("minValues", "maxValues", "nullCount")


def statistics_agree(one: str, other: str) -> bool:
    """Whether two JSON texts say the same of a file, as far as both say something.

    An engine may leave out columns, and write numbers and times in other ways.
    """
    if one == other:
        return True
    try:
        ours, theirs = parse_json(one), parse_json(other)
    except ValueError:
        return False
    if not (isinstance(ours, Mapping) and isinstance(theirs, Mapping)):
        return False
    return all(_agree(ours[key], theirs[key]) for key in ("numRecords", *_LEAVES) if key in ours and key in theirs)


def _agree(one: Any, other: Any) -> bool:
    if one == other or one is None or other is None:
        return True
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return all(_agree(one[key], other[key]) for key in one if key in other)
    if isinstance(one, str) and isinstance(other, str):
        ours, theirs = _time(one), _time(other)
        if ours is None or theirs is None:
            return False
        return abs(ours - theirs) < 0.001
    try:
        return isclose(float(one), float(other), rel_tol=1e-6)
    except (TypeError, ValueError):
        return False


def _time(text: str) -> float | None:
    """Return the seconds since 1970 of a time; one without zone counts as UTC."""
    try:
        time = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp()
