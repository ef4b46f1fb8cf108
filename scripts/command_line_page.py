"""Renders ``docs/reference/command-line.md`` from the parser of the command line: ``make docs``."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from airflow_delta_provider.jobs.run.command_line.main import parser

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "command-line.md"
_INTRODUCTION = """\
# Command line

<!-- Written by `make docs` from the parser of `python -m airflow_delta_provider.jobs`: change it there. -->

```console
$ python -m airflow_delta_provider.jobs COMMAND --table URI --report FILE [OPTIONS]
```

[Running without Airflow](../guides/without-airflow.md) shows an example of each command.

Standard output has only the result; with `--format json` it is the [report](report.md).

| exit code | meaning |
|---|---|
| 0 | the report was written, whatever the verdict |
| 1 | every table ended as `FAULT`, or there is no report |
| 2 | the command line is invalid |\
"""


def render() -> str:
    """Return the page."""
    commands = _commands(parser())
    common = [option for option in _options(next(iter(commands.values()))[1]) if _is_common(option, commands)]
    blocks = [
        _INTRODUCTION,
        "| command | what it does |\n|---|---|\n"
        + "\n".join(f"| [`{name}`](#{name}) | {_text(about)} |" for name, (about, _) in commands.items()),
        "## Options of all commands",
        _table(common),
    ]
    for name, (about, command) in commands.items():
        own = [option for option in _options(command) if not _is_common(option, commands)]
        blocks += [f"## {name}", f"{_text(about)}.", _table(own) if own else "This command has no options of its own."]
    return "\n\n".join(blocks) + "\n"


def _commands(whole: argparse.ArgumentParser) -> dict[str, tuple[str, argparse.ArgumentParser]]:
    """Return what each command does, and its parser."""
    choice = next(action for action in whole._actions if isinstance(action, argparse._SubParsersAction))
    about = {action.dest: action.help or "" for action in choice._choices_actions}
    return {name: (about[name], command) for name, command in choice.choices.items()}


def _options(command: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in command._actions if not isinstance(action, argparse._HelpAction)]


def _is_common(option: argparse.Action, commands: dict[str, tuple[str, argparse.ArgumentParser]]) -> bool:
    return all(_row(option) in map(_row, _options(command)) for _, command in commands.values())


def _table(options: Sequence[argparse.Action]) -> str:
    return "\n".join(["| option | meaning |", "|---|---|", *(_row(option) for option in _required_first(options))])


def _required_first(options: Iterable[argparse.Action]) -> list[argparse.Action]:
    return sorted(options, key=lambda option: not option.required)


def _row(option: argparse.Action) -> str:
    names = ", ".join(option.option_strings) or option.dest
    value = "" if option.nargs == 0 else f" {_value(option)}"
    about = option.help or ""
    notes = [_text(about)]
    if option.required:
        notes.append("required")
    if isinstance(option, argparse._AppendAction) and "repeated" not in about:
        notes.append("may be repeated")
    return f"| `{names}{value}` | {'; '.join(notes)} |"


def _value(option: argparse.Action) -> str:
    if option.choices is not None:
        return "{" + ",".join(map(str, option.choices)) + "}"
    return str(option.metavar or option.dest.upper())


def _text(sentence: str) -> str:
    """Return a sentence of the help with its first letter as it begins a line, safe in a table."""
    return (sentence[:1].upper() + sentence[1:]).replace("|", "\\|").replace("%%", "%")
