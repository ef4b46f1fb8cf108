"""Which engines cannot write a table that has a feature: those of which it is known.

Sources: the lists of features that engines know, in their own code, as of August 2026: ``TableFeature.scala`` of Delta
Spark by release, ``ProtocolChecker`` of delta-rs, ``DeltaLakeTableFeatures.java`` of Trino, ``table_features`` of
delta-kernel-rs, which DuckDB is built on, and ``TableFeatures.java`` of Delta Kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from airflow_delta_provider.domain.engine.engine import version_of


@dataclass(frozen=True)
class LockedOut:
    """An engine that cannot write.

    :param engine: as ``domain/delta/writer.py`` calls it
    :param label: what people call it
    :param until: first release that can; None where none is known
    """

    engine: str
    label: str
    until: str | None = None

    def __str__(self) -> str:
        return f"{self.label} before {self.until}" if self.until else self.label

    def is_written_by(self, writer: str) -> bool:
        """Whether ``writer``, a name and maybe a version, is such an engine."""
        if writer != self.engine and not writer.startswith(f"{self.engine} "):
            return False
        if self.until is None:
            return True
        version = version_of(writer[len(self.engine) + 1 :])
        return bool(version) and version < version_of(self.until)


def who_is_locked_out(feature: str, engines: Sequence[LockedOut], writers: Iterable[str]) -> str:
    """Return who can no longer write a table that has ``feature``, in a sentence.

    :param engines: those of which it is known
    :param writers: who wrote the table recently
    """
    known = f"known are {', '.join(map(str, engines))}" if engines else "which those are is not known"
    sentence = f"Writers that do not know {feature} are locked out; {known}."
    hit = sorted({writer for writer in writers if any(engine.is_written_by(writer) for engine in engines)})
    return f"Recent writers that would be locked out: {', '.join(hit)}. {sentence}" if hit else sentence
