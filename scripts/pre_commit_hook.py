#!/usr/bin/env python3
"""The command line of the checkout that this file is in: pre-commit clones it, and installs nothing."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from airflow_delta_provider.command_line.main import run

run()
