"""Dates and timestamps in the log, as values that can be compared.

PROTOCOL.md, Partition Value Serialization and Per-file Statistics. A date is a tuple, because Python's own type ends
with the year 9999.
"""

from __future__ import annotations

import re

_DATE = r"(?P<year>[+-]?\d{4,7})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
_TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d{1,2}):(?P<second>\d{1,2})(?:\.(?P<fraction>\d{1,9}))?"
_ZONE = r"(?P<zone>[zZ]|[+-]\d{2}:?\d{2}(?::?\d{2})?)"
_DAY = re.compile(_DATE, re.ASCII)
_MOMENT = re.compile(rf"{_DATE}(?P<separator>[T ])(?:{_TIME}){_ZONE}?", re.ASCII)
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
#: Last year for which old engines use the leap years of the Julian calendar.
_LAST_JULIAN_YEAR = 1582

Date = tuple[int, int, int]


def parse_date(text: str) -> Date:
    """Return year, month and day of ``{year}-{month}-{day}``.

    :raises ValueError: if the string is not a date, or there is no such day
    """
    found = _DAY.fullmatch(text)
    if found is None:
        raise ValueError("it is not a date")
    return _day(found)


def parse_timestamp(text: str) -> int:
    """Return the nanoseconds from 1970 to a timestamp; UTC if it has no zone.

    The separator is ``T`` or a blank.

    :raises ValueError: if the string is not a timestamp, or there is no such time
    """
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError("it is not a timestamp")
    hour, minute, second = (int(found[unit]) for unit in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError("there is no such time")
    seconds = _days(_day(found)) * 86_400 + hour * 3600 + minute * 60 + second - _offset(found["zone"])
    return seconds * 1_000_000_000 + int((found["fraction"] or "0").ljust(9, "0"))


def has_zone(text: str) -> bool:
    """Return True if a timestamp has a zone, or a ``T`` like timestamps that have one."""
    found = _MOMENT.fullmatch(text)
    return found is not None and (found["zone"] is not None or found["separator"] == "T")


def _day(found: re.Match[str]) -> Date:
    year, month, day = (int(found[unit]) for unit in ("year", "month", "day"))
    if not 1 <= month <= 12 or not 1 <= day <= _DAYS[month - 1] + (month == 2 and _is_leap(year)):
        raise ValueError("there is no such day")
    return year, month, day


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0 or year <= _LAST_JULIAN_YEAR)


def _days(date: Date) -> int:
    """Return the days from 1970 to a date.

    Years begin in March here, so that a leap day is the last of its year.
    """
    year, month, day = date
    year, month = (year - 1, month + 9) if month < 3 else (year, month - 3)
    return year * 365 + year // 4 - year // 100 + year // 400 + (month * 153 + 2) // 5 + day - 719_469


def _offset(zone: str | None) -> int:
    if zone is None or zone in "zZ":
        return 0
    digits = zone[1:].replace(":", "").ljust(6, "0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:4]) * 60 + int(digits[4:])
    return -seconds if zone[0] == "-" else seconds
