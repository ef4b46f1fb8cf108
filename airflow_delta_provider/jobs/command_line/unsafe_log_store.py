"""The flag that commits of ours share where Delta's log store does not keep writers apart."""

from __future__ import annotations

import argparse


def add_unsafe_log_store(parser: argparse.ArgumentParser) -> None:
    """Add ``--allow-unsafe-log-store``."""
    parser.add_argument(
        "--allow-unsafe-log-store",
        action="store_true",
        help="no other process writes to the table meanwhile, so that its log store need not keep writers apart",
    )
