"""Time limit for calls that may hang, such as calls to a store that does not answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


def within(seconds: float, call: Callable[[], T]) -> T:
    """Return the result of ``call``, or raise its error.

    :raises TimeoutError: if it takes longer; its thread continues
    """
    outcome: list[Callable[[], T]] = []

    def run() -> None:
        try:
            result = call()
        except BaseException as error:
            outcome.append(partial(_raise, error))
        else:
            outcome.append(lambda: result)

    thread = threading.Thread(target=copy_context().run, args=(run,), daemon=True, name="delta-time-limit")
    thread.start()
    thread.join(seconds)
    if not outcome:
        raise TimeoutError(f"no answer within {seconds:g} s")
    return outcome[0]()


def _raise(error: BaseException) -> Any:
    raise error
