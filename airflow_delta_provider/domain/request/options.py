"""What is known of a job from its kind and options alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of a kind that asks the engine."""

    kind: ClassVar[str]

    #: Whether a table may be named by a pattern that stands for many.
    takes_patterns: ClassVar[bool] = False

    def needs_delta(self, *, by_name: bool) -> bool:
        """Whether the job needs Delta on Spark's classpath.

        :param by_name: whether a table is named in a catalog, which may be Delta's
        """
        del by_name
        return True

    def to_json(self) -> dict[str, Any]:
        """Return the wire form."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class ReadsFiles(Options):
    """Options of a kind that reads logs and data files itself: only a catalog may need Delta."""

    def needs_delta(self, *, by_name: bool) -> bool:
        """Whether the job needs Delta on Spark's classpath.

        :param by_name: whether a table is named in a catalog, which may be Delta's
        """
        return by_name
