"""Retries of storage operations."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from airflow_delta_provider.jobs.storage.missing_file import MissingFileError

P = ParamSpec("P")
T = TypeVar("T")

#: Seconds before each further try.
WAITS = (0.2, 1.0)


def persistent(may_pass: Callable[[Exception], bool]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let a method try again if the storage failed in a way that may be temporary.

    :param may_pass: returns True if another try may help; not called for missing files
    """

    def decorate(method: Callable[P, T]) -> Callable[P, T]:
        @wraps(method)
        def tried(*arguments: P.args, **named: P.kwargs) -> T:
            for wait in WAITS:
                try:
                    return method(*arguments, **named)
                except MissingFileError:
                    raise
                except Exception as error:
                    if not may_pass(error):
                        raise
                    time.sleep(wait)
            return method(*arguments, **named)

        return tried

    return decorate
