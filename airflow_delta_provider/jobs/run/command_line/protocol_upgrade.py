"""The argument of the kinds that may change a table's protocol."""

from __future__ import annotations

import argparse


def add_protocol_upgrade(parser: argparse.ArgumentParser) -> None:
    """Add ``--allow-protocol-upgrade``."""
    parser.add_argument("--allow-protocol-upgrade", action="store_true", help="allow to lock older engines out")
