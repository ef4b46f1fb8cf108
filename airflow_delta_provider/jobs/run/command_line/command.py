"""What the command line knows of one kind of job."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from airflow_delta_provider.domain.request.options import Options


@dataclass(frozen=True)
class Command:
    """A kind of job on the command line.

    :param kind: its name
    :param help: what it does, in a few words
    :param add_arguments: adds the arguments that only this kind has
    :param options: reads the options out of parsed arguments; raises RequestError where they make no sense
    :param changes: whether it changes tables, and so has ``--dry-run``
    """

    kind: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    options: Callable[[argparse.Namespace], Options]
    changes: bool = False
