"""The flag of the kinds after which no engine can write to a table."""

from __future__ import annotations

import argparse


def add_writer_lockout(parser: argparse.ArgumentParser) -> None:
    """Add ``--acknowledge-writer-lockout``."""
    parser.add_argument(
        "--acknowledge-writer-lockout",
        action="store_true",
        help="allow columnMappingUsageTracking (experimental), with which no engine can write to the table",
    )
