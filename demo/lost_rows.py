"""``python -m demo.lost_rows``: a query that loses a row, and the audit that finds the cause. It needs no Java.

Exit code 0 only if everything that it says came true.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from decimal import Decimal

import pyarrow
from deltalake import DeltaTable, write_deltalake

from airflow_delta_provider.command_line.main import main as delta_provider

PRICES = [Decimal("9999999999999997.01"), Decimal("9999999999999998.99")]
LEAST = Decimal("9999999999999998.50")
#: Rule about bounds of decimals that lost digits.
RULE = "AC39"


def main() -> int:
    """Write a table, query it and audit it; return the exit code."""
    with tempfile.TemporaryDirectory(prefix="prices-") as table:
        prices = pyarrow.array(PRICES, pyarrow.decimal128(18, 2))
        write_deltalake(table, pyarrow.table({"price": prices}))
        every = DeltaTable(table).to_pyarrow_table().column("price").to_pylist()
        found = DeltaTable(table).to_pyarrow_table(filters=[("price", ">=", LEAST)])
        expected = sum(price >= LEAST for price in every)
        print(f"The table has the prices {', '.join(map(str, every))}.")
        print(f"price >= {LEAST} finds {found.num_rows} of {expected} rows, without an error or a warning.\n")
        print(f"$ delta-provider audit {table}")
        report = audited(table)
        print(report)
    return 0 if found.num_rows < expected and RULE in report else 1


def audited(table: str) -> str:
    """Return the report of an audit of the table's log."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        delta_provider(["audit", table, "--level", "log"])
    return printed.getvalue()


if __name__ == "__main__":
    sys.exit(main())
