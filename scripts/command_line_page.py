"""Renders the reference page of the command line from its parsers: ``make docs``."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from airflow_delta_provider.command_line.exit_code import MEANINGS
from airflow_delta_provider.command_line.parser import (
    DEMO_COMMANDS,
    FILE_COMMANDS,
    IMAGE_COMMANDS,
    REPORT_COMMANDS,
    RULE_COMMANDS,
    commands,
    demo_parser,
    files_parser,
    rules_parser,
    show_parser,
    table_parser,
    warm_up_parser,
)

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "command-line.md"
_INTRODUCTION = """\
# Command line

<!-- Written by `make docs` from airflow_delta_provider/command_line: change it there. -->

```console
$ delta-provider COMMAND TABLE [TABLE ...] [OPTIONS]
```

`python -m airflow_delta_provider` is the same. [Use the command line](../guides/command-line.md) describes its use by
people and CI. Standard output has only the result; with `--format json` it is the [report](report.md). Everything
else goes to standard error.

With several tables, the worst counts for the exit code, in this order:

| exit code | meaning |
|---|---|\
"""

_Commands = Mapping[str, tuple[str, argparse.ArgumentParser]]


def render() -> str:
    """Return the page of ``delta-provider``."""
    on_tables = {name: (kind.summary, table_parser(name, kind)) for name, kind in commands().items()}
    others = {name: (about, demo_parser()) for name, about in DEMO_COMMANDS.items()}
    others |= {name: (about, show_parser()) for name, about in REPORT_COMMANDS.items()}
    others |= {name: (about, files_parser()) for name, about in FILE_COMMANDS.items()}
    others |= {name: (about, rules_parser(name)) for name, about in RULE_COMMANDS.items()}
    others |= {name: (about, warm_up_parser()) for name, about in IMAGE_COMMANDS.items()}
    codes = "\n".join(f"| {code.value} | {meaning} |" for code, meaning in MEANINGS.items())
    blocks = [
        f"{_INTRODUCTION}\n{codes}",
        _overview({**on_tables, **others}),
        "## Options of all commands on tables",
        *_sections(on_tables),
        *(block for name, known in others.items() for block in _section(name, *known, _options(known[1]))),
    ]
    return "\n\n".join(blocks) + "\n"


def _overview(known: _Commands) -> str:
    rows = (f"| [`{name}`](#{name}) | {_text(about)} |" for name, (about, _) in known.items())
    return "\n".join(["| command | effect |", "|---|---|", *rows])


def _sections(known: _Commands) -> Iterator[str]:
    """Yield the options that all commands have, then those of each."""
    first = next(iter(known.values()))[1]
    yield _table([option for option in _options(first) if _is_common(option, known)])
    for name, (about, command) in known.items():
        own = [option for option in _options(command) if not _is_common(option, known)]
        yield from _section(name, about, command, own)


def _section(name: str, about: str, _: argparse.ArgumentParser, options: Sequence[argparse.Action]) -> Iterator[str]:
    yield f"## {name}"
    yield f"{_text(about)}."
    yield _table(options) if options else "This command has no options of its own."


def _options(command: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in command._actions if not isinstance(action, argparse._HelpAction)]


def _is_common(option: argparse.Action, known: _Commands) -> bool:
    return all(_row(option) in map(_row, _options(command)) for _, command in known.values())


def _table(options: Sequence[argparse.Action]) -> str:
    return "\n".join(["| option | meaning |", "|---|---|", *(_row(option) for option in _required_first(options))])


def _required_first(options: Iterable[argparse.Action]) -> list[argparse.Action]:
    return sorted(options, key=lambda option: not option.required)


def _row(option: argparse.Action) -> str:
    names = ", ".join(option.option_strings)
    value = "" if option.nargs == 0 else f" {_value(option)}"
    about = option.help or ""
    notes = [_text(about)]
    if option.required:
        notes.append("required")
    if isinstance(option, argparse._AppendAction) and "repeated" not in about:
        notes.append("may be repeated")
    return f"| `{f'{names}{value}'.strip()}` | {'; '.join(notes)} |"


def _value(option: argparse.Action) -> str:
    if option.choices is not None:
        return "{" + ",".join(map(str, option.choices)) + "}"
    return str(option.metavar or option.dest.upper())


def _text(sentence: str) -> str:
    """Return a sentence of the help as it is, with literal values, safe in a table."""
    return sentence.replace("|", "\\|").replace("%%", "%")
