"""Search for the newest file of a numbered series without listing it."""

from __future__ import annotations

from collections.abc import Callable


def newest_after(number: int, stamp_of: Callable[[int], str | None]) -> tuple[int, str | None]:
    """Return the newest number of an unbroken series, and its stamp.

    It needs one or two requests if little is new.

    :param number: a number that exists
    :param stamp_of: function that returns the state of a number's file, None if there is no file
    :return: ``number`` and None if nothing follows it
    """
    newest, stamp, step = number, None, 1
    while (found := stamp_of(newest + step)) is not None:
        newest, stamp, step = newest + step, found, step * 2
    missing = newest + step
    while missing - newest > 1:
        middle = (newest + missing) // 2
        found = stamp_of(middle)
        if found is None:
            missing = middle
        else:
            newest, stamp = middle, found
    return newest, stamp
