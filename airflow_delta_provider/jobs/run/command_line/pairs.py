"""Arguments of the form NAME=VALUE."""

from __future__ import annotations

import argparse
import re

from airflow_delta_provider.domain.request.arguments import RequestError

_OUTSIDE_BACKTICKS = re.compile(r"`(?:[^`]|``)*`|.", re.DOTALL)


def name_and_value(text: str) -> tuple[str, str]:
    """Split at the first ``=``: a value may hold more.

    :raises argparse.ArgumentTypeError: if there is none
    """
    name, _, value = text.partition("=")
    if not (name and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def path_and_type(text: str) -> tuple[str, str]:
    """Split at the last ``=``: a column's name may hold more.

    :raises argparse.ArgumentTypeError: if there is none
    """
    path, _, data_type = text.rpartition("=")
    if not (path and data_type):
        raise argparse.ArgumentTypeError(f"{text!r} is not PATH=TYPE")
    return path, data_type


def path_and_name(text: str) -> tuple[str, str]:
    """Split at the only ``=`` that is not between backticks: either name may hold more, quoted.

    :raises argparse.ArgumentTypeError: if there is none, or more than one
    """
    parts = _OUTSIDE_BACKTICKS.findall(text)
    at = [index for index, part in enumerate(parts) if part == "="]
    if len(at) != 1 or at[0] in (0, len(parts) - 1):
        raise argparse.ArgumentTypeError(f"{text!r} is not OLD=NEW; a name that holds a = goes between backticks")
    return "".join(parts[: at[0]]), "".join(parts[at[0] + 1 :])


def each_once(option: str, pairs: list[tuple[str, str]]) -> dict[str, str]:
    """Return pairs as a mapping, in their order.

    :raises RequestError: if a name is there twice
    """
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise RequestError(f"{option} names {name!r} more than once. Name it once.")
    return dict(pairs)
