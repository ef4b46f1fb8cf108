"""Whether a job needs Delta's own classes: many kinds read logs and files themselves."""

from __future__ import annotations


class NeedsDelta:
    """A kind that asks the engine, whatever its options."""

    def needs_delta(self, *, by_name: bool) -> bool:
        """Whether the job needs Delta on Spark's classpath.

        :param by_name: whether a table is named in a catalog, which may be Delta's
        """
        del by_name
        return True


class ReadsFiles:
    """A kind that reads logs and data files itself: only a catalog may need Delta."""

    def needs_delta(self, *, by_name: bool) -> bool:
        """Whether the job needs Delta on Spark's classpath.

        :param by_name: whether a table is named in a catalog, which may be Delta's
        """
        return by_name
