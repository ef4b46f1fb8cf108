"""Live files whose paths can be spelled in several ways: no file may be live under two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from airflow_delta_provider.domain.delta.file_path import is_any_odd, is_odd, plain_path
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.transition import Transition


class LiveSpellings:
    """Remembers the odd paths by their plain spelling.

    :param root: URI of the table; None if unknown
    """

    def __init__(self, root: str | None) -> None:
        self._root = root
        self._odd: dict[str, str] = {}

    @property
    def has_odd(self) -> bool:
        """Return True if any path so far can be spelled in several ways."""
        return bool(self._odd)

    def begin(self, files: Iterable[LiveFile]) -> None:
        """Take the files that are live at the start of the history."""
        self._odd |= {plain_path(file.path, self._root): file.path for file in files if is_odd(file.path)}

    def take(self, transition: Transition, is_live: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
        """Record a commit. Yield its paths whose files stay live under another path, each with the other path.

        :param is_live: returns True if a path is live after the commit
        """
        paths = dict.fromkeys([file.path for file in transition.commit.adds])
        if not self._odd and not is_any_odd(paths):
            return
        for path in paths:
            plain = plain_path(path, self._root) if is_odd(path) else path
            if plain == path and not self._odd:
                continue
            other = self._odd.get(plain)
            if plain != path:
                self._odd[plain] = path
                if (other is None or other == path) and not is_odd(plain):
                    other = plain
            if other is not None and other != path and is_live(other):
                yield path, other
