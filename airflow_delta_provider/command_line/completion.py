"""Completion in a shell, by argcomplete: ``eval "$(register-python-argcomplete delta-provider)"``."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, MutableMapping

from airflow_delta_provider.command_line import parser

#: Environment variable that argcomplete's shell function sets: number of the word that is the program.
ASKED = "_ARGCOMPLETE"


def complete(environment: MutableMapping[str, str] = os.environ) -> None:
    """Print the completions of the line in the environment, and exit. Without argcomplete, return.

    The parser of a command is created only if the line has that command.
    """
    try:
        import argcomplete
    except ImportError:
        return
    command = _command(environment)
    if command is not None:
        environment[ASKED] = str(int(environment[ASKED]) + 1)  # the command is part of the program's name
    argcomplete.autocomplete(_parser(command), always_complete_options="long")


def _command(environment: Mapping[str, str]) -> str | None:
    """Return the command of the line; None while it is being typed."""
    line = environment.get("COMP_LINE", "")[: int(environment.get("COMP_POINT", "0"))]
    words = line.split()[int(environment[ASKED]) :]
    is_whole = len(words) > 1 or line.endswith(" ")
    return words[0] if words and is_whole and words[0] in parser.names() else None


def _parser(command: str | None) -> argparse.ArgumentParser:
    if command is None:
        found = parser.whole_parser()
        found.add_argument("command", choices=parser.names())
        return found
    if command in parser.RULE_COMMANDS:
        found = parser.rules_parser(command)
        _offer_rules(found)
        return found
    if (kind := parser.kind_of(command)) is not None:
        return parser.table_parser(command, kind)
    return _OTHERS[command]()


_OTHERS = {
    "demo": parser.demo_parser,
    "show": parser.show_parser,
    "check-files": parser.files_parser,
    "warm-up": parser.warm_up_parser,
}


def _offer_rules(found: argparse.ArgumentParser) -> None:
    """Let codes and names of rules complete the arguments that name rules."""
    from airflow_delta_provider.command_line.rules import entries, families

    names = [word for entry in entries().values() for word in (entry.code, entry.name)]
    known = {"rules": names, "family": [*families()]}
    for action in found._actions:
        if action.dest in known:
            words = known[action.dest]
            action.completer = lambda words=words, **_: words  # type: ignore[attr-defined]
