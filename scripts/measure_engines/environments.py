"""Virtual environments, each with a release of an engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from scripts.measure_engines.releases import Measured


def environment(release: Measured, folder: Path) -> str:
    """Return the Python of a virtual environment that has a release."""
    place = folder / f"{release.name.replace(' ', '-')}-{release.version}"
    python = place / "bin" / "python"
    if not (place / ".installed").exists():
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *release.packages],
            check=True,
        )
        (place / ".installed").touch()
    return str(python)
