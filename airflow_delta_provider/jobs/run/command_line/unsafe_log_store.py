"""The flag that all changes share where Delta's log store does not keep writers apart."""

from __future__ import annotations

import argparse


def add_unsafe_log_store(parser: argparse.ArgumentParser) -> None:
    """Add ``--allow-unsafe-log-store``."""
    parser.add_argument(
        "--allow-unsafe-log-store",
        action="store_true",
        help="confirm that nothing else writes to the table meanwhile (needed on S3 without a multi-writer log store)",
    )
