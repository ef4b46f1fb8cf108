"""Checks averages over all modules of the package: ``python -m scripts.module_averages``.

Small modules make readers jump, and modules that import many others cannot be understood alone. The averages hold as
the package grows; single modules may differ.
"""

from __future__ import annotations

import ast
import sys

from scripts.sample_blocks import CHECKOUT

PACKAGE = "airflow_delta_provider"
#: Lines per module, at least; modules of the package that a module imports, at most.
FEWEST_LINES, MOST_IMPORTS = 150, 7.3


def imports_of(tree: ast.Module) -> set[str]:
    """Return the modules of the package that a module imports when it is loaded."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == PACKAGE:
            for name in node.names:
                inner = f"{node.module}.{name.name}"
                found.add(inner if CHECKOUT.joinpath(*inner.split(".")).with_suffix(".py").exists() else node.module)
    return found


def main() -> int:
    """Print the averages; return 1 if one is beyond its limit."""
    files = sorted(CHECKOUT.joinpath(PACKAGE).rglob("*.py"))
    texts = [file.read_text(encoding="utf-8") for file in files]
    lines = sum(text.count("\n") for text in texts) / len(files)
    imports = sum(len(imports_of(ast.parse(text))) for text in texts) / len(files)
    print(f"{len(files)} modules, on average with {lines:.0f} lines (at least {FEWEST_LINES})")
    print(f"and {imports:.1f} imports of the package (at most {MOST_IMPORTS})")
    return int(lines < FEWEST_LINES or imports > MOST_IMPORTS)


if __name__ == "__main__":
    sys.exit(main())
