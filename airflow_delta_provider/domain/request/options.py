"""What is known of a job from its kind and options alone."""

from __future__ import annotations

from typing import ClassVar


class JobOptions:
    """Options of a kind that asks the engine."""

    #: Whether a table may be named by a pattern that stands for many.
    takes_patterns: ClassVar[bool] = False

    def needs_delta(self, *, by_name: bool) -> bool:
        """Whether the job needs Delta on Spark's classpath.

        :param by_name: whether a table is named in a catalog, which may be Delta's
        """
        del by_name
        return True


class ReadsFiles(JobOptions):
    """Options of a kind that reads logs and data files itself: only a catalog may need Delta."""

    def needs_delta(self, *, by_name: bool) -> bool:
        """Whether the job needs Delta on Spark's classpath.

        :param by_name: whether a table is named in a catalog, which may be Delta's
        """
        return by_name
