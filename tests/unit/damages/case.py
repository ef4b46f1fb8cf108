"""What a damage is."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from tests.unit.log_builder import Damage, Table

ALL = frozenset({"undo", "restore", "replace"})
#: Where only files are wrong.
FILES = frozenset({"restore", "replace"})
UNDO = frozenset({"undo"})
#: Of what a table that is replaced keeps: properties, and features that RESTORE would bring back.
KEPT = frozenset({"undo", "restore"})
NEVER: frozenset[str] = frozenset()
Step = Callable[[Table], Any]


@dataclass(frozen=True)
class Case:
    """A commit of a history that is damaged.

    :param before: the history up to it
    :param step: the commit, or several of which the first is damaged
    :param damage: what is done to its actions
    :param shows: what the action has to hold that the finding shows
    :param follows: codes that may be told as consequences
    :param then: innocent commits after it
    :param healed_by: what puts it right: ``undo`` (what was changed is changed back), ``restore`` (RESTORE to the
        version before), ``replace`` (CREATE OR REPLACE)
    :param column: of the finding
    :param about_operation: whether it is about the name of the operation, so that another name is no damage
    :param needs_history: whether only a commit before shows that it is one
    :param of_newest: whether it is about the newest version only, so that nothing is left of it once it is fixed
    """

    code: str
    before: Callable[[], Table]
    step: Step
    damage: Damage
    shows: str = ""
    follows: Collection[str] = ()
    then: Step | None = None
    healed_by: frozenset[str] = ALL
    column: str | None = None
    name: str = ""
    about_operation: bool = False
    needs_history: bool = False
    of_newest: bool = False
