"""Histories that Delta writes, one story each: nothing is wrong with any of them.

A story is what happens to one table, in steps: statements, with the table as ``{t}`` and a directory of
the story's own as ``{d}``, or functions of the session and of the table's directory. All of them leave a
small table behind, and together they do whatever changes protocol, metadata, schema or files.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

_MODULES = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
_THEMES = [module for module in _MODULES if hasattr(module, "STORIES")]
STORIES = {name: story for theme in _THEMES for name, story in theme.STORIES.items()}
assert len(STORIES) == sum(len(theme.STORIES) for theme in _THEMES), "two themes tell a story of one name"

#: Those that are told each time: what once was a false alarm, and what comes closest to damage.
QUICK = frozenset(
    {
        "append only, unmapped",
        "clustered and mapped",
        "restored, row tracking late",
        "streamed and written at once",
    }
)

#: What Delta 4.4.0 really does wrong. A RESTORE to before row tracking was dropped brings the files back with
#: their row ids, but not the high water mark: the next rows get ids from 0 on. And where column mapping is taken away,
#: clustering columns keep their physical names, by which nobody finds them then.
KNOWN = {
    "restored, row tracking dropped": {"RT10", "RT11", "RT15"},
    "clustered, mapped and unmapped": {"CM17"},
}
