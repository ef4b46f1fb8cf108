"""Parsers of the command line, one per command, created on demand."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

from airflow_delta_provider import __version__
from airflow_delta_provider.command_line.exit_code import MEANINGS, ExitCode
from airflow_delta_provider.command_line.terminal import PROGRAM
from airflow_delta_provider.domain.request.kinds import KINDS, Kind, load
from airflow_delta_provider.domain.text import did_you_mean

if TYPE_CHECKING:
    from airflow_delta_provider.domain.request.options import Options


#: Names of commands that differ from those of their kinds.
_ALIASES = {"check-paimon": "check-paimon-row-tracking"}
_WIDTH = 28


#: Commands that read no table.
RULE_COMMANDS = {"explain": "Explain rules by their codes or names", "rules": "List all rules"}
#: Commands that read files of this package, and no table.
FILE_COMMANDS = {"check-files": "Check specs, policies, fleets, waivers, owners and configurations, without tables"}
#: Commands that make tables of their own.
DEMO_COMMANDS = {"demo": "Make five small tables, three of them damaged, and audit them"}
#: Commands that read a saved report.
REPORT_COMMANDS = {"show": "Show a saved report in another format"}
#: Commands that read no table and prepare a worker's image.
IMAGE_COMMANDS = {"warm-up": "Put Delta's jars and an archive of Spark's classes into an image of Airflow"}


def commands() -> Mapping[str, Kind]:
    """Return the commands that work on tables. Commands that change tables come last."""
    names = {kind: alias for alias, kind in _ALIASES.items()}
    return {names.get(name, name): kind for name, kind in KINDS.items()}


def kind_of(command: str) -> Kind | None:
    """Return the kind of job that a command runs; None if it runs none."""
    return KINDS.get(_ALIASES.get(command, command))


def names() -> list[str]:
    return [*commands(), *DEMO_COMMANDS, *REPORT_COMMANDS, *FILE_COMMANDS, *RULE_COMMANDS, *IMAGE_COMMANDS]


_UNKNOWN = re.compile(r"unrecognized arguments: (?P<words>.*)", re.DOTALL)
_NO_CHOICE = re.compile(
    r"argument (?P<flag>\S+): invalid choice: '(?P<word>.*?)' \(choose from (?P<known>.*)\)", re.DOTALL
)


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence each, with a suggestion for a misspelt word."""

    def error(self, message: str) -> NoReturn:
        """Print the reason, and exit with 2."""
        self.exit(ExitCode.USAGE, f"{PROGRAM}: {self._reworded(message)}\n")

    def _reworded(self, message: str) -> str:
        options = f"`{self.prog} --help` lists the options."
        if unknown := _UNKNOWN.fullmatch(message):
            flag = next((word for word in unknown["words"].split() if word.startswith("-")), None)
            if flag is None:
                return f"nothing is known of {unknown['words']!r}. {options}"
            flag = flag.partition("=")[0]
            hint = did_you_mean(flag, self._option_string_actions) if flag.startswith("--") else ""
            return f"there is no option {flag}.{hint} {options}"
        if wrong := _NO_CHOICE.fullmatch(message):
            known = wrong["known"].replace("'", "").split(", ")
            hint = did_you_mean(wrong["word"], known)
            return f"{wrong['flag']} cannot be {wrong['word']!r}.{hint} Use {', '.join(known)}."
        shown = f"{message.removeprefix('argument ').rstrip('.')}."
        return f"{shown} {options}" if "required" in message or "expected" in message else shown


def whole_parser() -> argparse.ArgumentParser:
    """Return the parser for a command line without a command."""
    parser = Parser(
        prog=PROGRAM,
        usage=f"{PROGRAM} COMMAND [TABLE ...] [OPTIONS]",
        description=_overview(),
        epilog=_exit_codes(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    return parser


def _overview() -> str:
    known = commands()
    groups = (
        ("try it", DEMO_COMMANDS),
        ("look at tables", {name: kind.summary for name, kind in known.items() if kind.reading_job is not None}),
        ("change tables, with Spark", {name: kind.summary for name, kind in known.items() if kind.reading_job is None}),
        ("reports and files", {**REPORT_COMMANDS, **FILE_COMMANDS}),
        ("rules", RULE_COMMANDS),
        ("images", IMAGE_COMMANDS),
    )
    lines = ["Audit and change Delta Lake tables."]
    for title, listed in groups:
        lines += ["", f"{title}:", *(f"  {name:<{_WIDTH}}{about}" for name, about in listed.items())]
    lines += ["", "examples:"]
    lines += [
        f"  {PROGRAM} {line}" for line in (f"audit {KINDS['audit'].example}", "audit lake/orders", "explain CODE")
    ]
    return "\n".join([*lines, "", f"`{PROGRAM} COMMAND --help` shows the options of a command."])


def _exit_codes() -> str:
    meanings = (f"  {code.value:<5}{MEANINGS[code].replace('`', '')}" for code in sorted(ExitCode))
    return "\n".join(["exit codes; with several tables, the worst one counts (4, 3, 1, 5, 0):", *meanings])


def rules_parser(command: str) -> argparse.ArgumentParser:
    """Return the parser of ``explain`` or ``rules``."""
    from airflow_delta_provider.command_line import rules  # late: other commands need none of it

    parser = Parser(prog=f"{PROGRAM} {command}", description=f"{RULE_COMMANDS[command]}.", allow_abbrev=False)
    if command == "explain":
        parser.add_argument(
            "rules", nargs="+", metavar="RULE", help="code of a rule, as shown in findings, or its name"
        )
    else:
        parser.add_argument(
            "--family", action="append", default=[], metavar="PREFIX", help="beginning of the codes to list"
        )
        parser.add_argument(
            "--severity", action="append", default=[], choices=rules.SEVERITIES, help="severity of the rules to list"
        )
    parser.add_argument("--format", choices=rules.FORMATS, default="text", help="output format (default: text)")
    return parser


def demo_parser() -> argparse.ArgumentParser:
    """Return the parser of the demo."""
    (command,) = DEMO_COMMANDS
    parser = Parser(prog=f"{PROGRAM} {command}", description=f"{DEMO_COMMANDS[command]}.", allow_abbrev=False)
    parser.add_argument(
        "folder",
        nargs="?",
        metavar="FOLDER",
        help="new or empty folder for tables and report (default: a temporary one)",
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open the report in a browser")
    return parser


def show_parser() -> argparse.ArgumentParser:
    """Return the parser of the command that shows a report."""
    from airflow_delta_provider.domain.rendering.presentation import FORMATS

    (command,) = REPORT_COMMANDS
    parser = Parser(prog=f"{PROGRAM} {command}", description=f"{REPORT_COMMANDS[command]}.", allow_abbrev=False)
    parser.add_argument(
        "report", metavar="REPORT", help="JSON report, from --report or --format json; - is standard input"
    )
    parser.add_argument("--format", choices=tuple(FORMATS), default="text", help="output format (default: text)")
    parser.add_argument("--output", metavar="FILE", help="path or URI to write it to, instead of standard output")
    return parser


def files_parser() -> argparse.ArgumentParser:
    """Return the parser of the command that checks files."""
    (command,) = FILE_COMMANDS
    parser = Parser(
        prog=f"{PROGRAM} {command}",
        usage=f"{PROGRAM} {command} [FILE ...] [OPTIONS]",
        description=f"{FILE_COMMANDS[command]}. Each problem has its file, line and column.",
        epilog=f"example:\n  {PROGRAM} {command} tables/ policy.yaml delta-provider.toml",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="file, or folder of YAML and JSON files; its kind is recognised by its content. A configuration "
        "(*.toml) is checked with the policy and the fleet that it names",
    )
    for kind in ("spec", "policy", "fleet", "waivers", "owners"):
        parser.add_argument(
            f"--{kind}", action="append", default=[], metavar="FILE", help=f"file of the kind {kind}; may be repeated"
        )
    parser.add_argument(
        "--format",
        choices=("text", "github", "json"),
        default="text",
        help="output format (default: text). github: annotations of GitHub Actions",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="show problems only")
    return parser


def warm_up_parser() -> argparse.ArgumentParser:
    """Return the parser of the command that prepares an image."""
    (command,) = IMAGE_COMMANDS
    parser = Parser(prog=f"{PROGRAM} {command}", description=f"{IMAGE_COMMANDS[command]}.", allow_abbrev=False)
    parser.add_argument(
        "--folder",
        metavar="FOLDER",
        help="folder for the jars and the archive (default: worker_cache of [delta_provider] in Airflow's "
        "configuration)",
    )
    parser.add_argument(
        "--spark-binary",
        metavar="COMMAND",
        default="spark-submit",
        help="spark-submit of the tasks (default: spark-submit on PATH)",
    )
    parser.add_argument(
        "--delta-jars",
        metavar="JARS",
        help="delta_jars of the tasks: packages, provided, or paths or Maven coordinates of jars (default: packages, "
        "the release for the installed Spark)",
    )
    parser.add_argument(
        "--repositories", metavar="URLS", help="more Maven repositories to ask for the jars, separated by commas"
    )
    parser.add_argument("--jars-only", action="store_true", help="leave out the archive of classes (some 200 MB)")
    return parser


def table_parser(command: str, kind: Kind) -> argparse.ArgumentParser:
    """Return the parser of a command that works on tables."""
    # Imported late: the overview of all commands needs none of it.
    from airflow_delta_provider.command_line.arguments import add_options

    options: type[Options] = load(kind.options)
    parser = Parser(
        prog=f"{PROGRAM} {command}",
        usage=_usage(command, options),
        description=f"{kind.summary}.",
        epilog=f"example:\n  {PROGRAM} {command} {kind.example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        # The audit option --fail-on is replaced by one with a further choice.
        conflict_handler="resolve",
        allow_abbrev=False,
    )
    _add_tables(parser, options)
    own = parser.add_argument_group(f"options of {command}")
    add_options(own, options)
    if options.changes:
        own.add_argument("--dry-run", action="store_true", help="plan and report, change nothing")
    _add_output(parser, writes_result=not options.writes_specs)
    _add_outcome(parser, options)
    _add_engine(parser)
    parser.set_defaults(dry_run=False, baseline=None, output=None)
    return parser


def _usage(command: str, options: type[Options]) -> str:
    """Return the usage line, with the options that are required."""
    from airflow_delta_provider.command_line.arguments import flags_of

    flags = flags_of(options)
    required = [
        f"{flags[name]} {known.metavar or name.upper()}" for name, known in options.declared().items() if known.one
    ]
    tables = "TABLE [TABLE ...]" if _must_name(options) else "[TABLE ...]"
    return " ".join([PROGRAM, command, tables, *required, "[OPTIONS]"])


def _must_name(options: type[Options]) -> bool:
    """Return True if only the command line can name tables."""
    return options.changes and not options.names_tables


def _add_tables(parser: argparse.ArgumentParser, options: type[Options]) -> None:
    patterns = "" if options.changes else ", a pattern (lake/*, s3://lake/** for all tables below)"
    parser.add_argument(
        "tables",
        nargs="*",
        default=[],
        metavar="TABLE",
        help=f"path, URI or catalog name{patterns}, or @FILE with one per line (@- for standard input)"
        f"{_default(options)}",
    )
    group = parser.add_argument_group("tables and configuration")
    group.add_argument(
        "--table", action="append", default=[], metavar="TABLE", dest="named", help="the same as TABLE; may be repeated"
    )
    if not options.changes:
        group.add_argument(
            "--schema",
            action="append",
            default=[],
            metavar="SCHEMA",
            help="all Delta tables of a schema of Spark's catalog, the same as SCHEMA.*; may be repeated",
        )
        group.add_argument(
            "--exclude",
            action="append",
            default=[],
            metavar="PATTERN",
            help="tables to leave out: a path (with all below it), or without a slash the last part of one; "
            "may be repeated",
        )
    group.add_argument(
        "--config",
        metavar="FILE",
        help="configuration (default: the nearest delta-provider.toml, or pyproject.toml with [tool.delta-provider])",
    )
    group.add_argument("--no-config", action="store_true", help="read no configuration file")


def _default(options: type[Options]) -> str:
    """Return a help text about the tables that are used if the command line names none."""
    if _must_name(options):
        return ""
    flags = [f"--{name}" for name in ("spec", "plan") if name in options.declared()] if options.names_tables else []
    named_by = [*flags, *(() if options.changes else ("the configuration",))]
    return f"; default: the tables that {' or '.join(named_by)} names"


def _add_output(parser: argparse.ArgumentParser, *, writes_result: bool) -> None:
    """Add the options of all commands for their output.

    :param writes_result: True if --output names the file of the result
    """
    from airflow_delta_provider.domain.rendering.presentation import FORMATS

    group = parser.add_argument_group("output")
    about = f"output format (default: text). {'; '.join(f'{name}: {form.about}' for name, form in FORMATS.items())}"
    group.add_argument("--format", choices=tuple(FORMATS), default="text", help=about)
    if writes_result:
        group.add_argument(
            "--output", metavar="FILE", help="path or URI to write the result to, instead of standard output"
        )
    group.add_argument("--report", metavar="FILE", help="path or URI to also write the whole report to, as JSON")
    group.add_argument("-q", "--quiet", action="store_true", help="show the result and errors only")
    group.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="show more: the engine with the reason for its choice, and Spark's output",
    )


def _add_outcome(parser: argparse.ArgumentParser, options: type[Options]) -> None:
    group = parser.add_argument_group("exit code")
    group.add_argument(
        "--fail-on",
        choices=("error", "warning", "never"),
        default=None,
        help="lowest severity of findings that fail the command (default: error)",
    )
    group.add_argument(
        "--strict", action="store_true", default=None, help="also fail if a table could not be fully checked"
    )
    group.add_argument("--exit-zero", action="store_true", help="exit with 0, whatever the findings are")
    if not options.changes:
        group.add_argument(
            "--baseline",
            metavar="FILE",
            help="JSON report of an earlier run: fail only on findings that are new since then",
        )


def _add_engine(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("engine")
    group.add_argument(
        "--engine",
        choices=("auto", "python", "spark"),
        default=None,
        help="python = without a JVM, for jobs that read only logs and footers; auto (default) = python if possible",
    )
    group.add_argument(
        "--storage",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="option of an object store without Spark, such as region or endpoint; never a secret",
    )
    from airflow_delta_provider.command_line.arguments import add_allowed_locations

    add_allowed_locations(group)
    group.add_argument("--master", help="Spark master (default: spark-defaults, else local[*])")
    group.add_argument(
        "--conf", action="append", default=[], metavar="KEY=VALUE", help="setting of Spark; may be repeated"
    )
    group.add_argument(
        "--packages", action="append", default=[], metavar="COORDINATES", help="Maven packages for Spark"
    )
    group.add_argument("--delta-jars", help="packages, provided, or paths or Maven coordinates of jars")
