"""``check-files``: checks specs, policies, fleets, waivers, owners and configurations, without any table."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_delta_provider.command_line.exit_code import ExitCode
from airflow_delta_provider.command_line.invocation import read_config
from airflow_delta_provider.command_line.parser import files_parser
from airflow_delta_provider.command_line.terminal import Terminal
from airflow_delta_provider.domain.audit.waivers import Ownership, OwnershipError, WaiverError, Waivers
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.formats.yaml_documents import Mark, YamlError, key_mark_of, mark_of, parse_yaml
from airflow_delta_provider.domain.request.check_options import FleetFile
from airflow_delta_provider.domain.request.config_file import ConfigError
from airflow_delta_provider.domain.request.option import as_json
from airflow_delta_provider.domain.spec.files import SUFFIXES, is_spec_file, parse_files
from airflow_delta_provider.domain.spec.policy import Policy, PolicyError
from airflow_delta_provider.domain.spec.problem import Problem, SpecError
from airflow_delta_provider.domain.text import counted, printed, visible

#: Number of an entry in a message; the entries of a file are checked one by one.
_ENTRY = re.compile(r"\bentry 1\b")
_TOML_LINE = re.compile(r"^.*?, line (?P<line>\d+): |^.*?: (?=.*\(at line (?P<at>\d+), column (?P<column>\d+)\))")
_ONLY_POLICIES = {"error", "warning", "ignored", "max_rewrite_gb", "approve_without_asking"}
_OF_FLEETS = {"engines", "profiles", "policy", "must_stay_readable_by", "must_stay_writable_by"}
_OF_FLEET = re.compile(r"fleet: (?:line (\d+), column (\d+): )?(.*)", re.DOTALL)


@dataclass(frozen=True)
class Found:
    """A problem of a file."""

    file: str
    problem: Problem

    @property
    def text(self) -> str:
        """The problem after its place, as compilers print it."""
        known = (self.file, self.problem.line, self.problem.column)
        return f"{':'.join(str(part) for part in known if part is not None)}: {self.problem}"

    @property
    def annotation(self) -> str:
        """The problem as a workflow command of GitHub."""
        from airflow_delta_provider.domain.rendering.github import annotation  # late: only one format needs it

        return annotation(str(self.problem), file=self.file, line=self.problem.line, column=self.problem.column)

    @property
    def wire(self) -> Mapping[str, Any]:
        problem = self.problem
        return {"file": self.file, "line": problem.line, "column": problem.column, "message": str(problem)}


def run_check_files(words: Sequence[str]) -> int:
    """Check files, print their problems and return the exit code."""
    parsed = files_parser().parse_intermixed_args(words)
    terminal = Terminal(quiet=parsed.quiet)
    given = [(kind, path) for kind in KINDS for path in getattr(parsed, kind)]
    given += [("", path) for path in parsed.files]
    if not given:
        terminal.error("name at least one file or folder.")
        return ExitCode.USAGE
    checker = _Checker()
    for kind, path in given:
        checker.check(path, kind)
    found = checker.finish()
    show = {"text": _text, "github": _annotations, "json": _json}[parsed.format]
    if not terminal.result([show(found)]):
        return ExitCode.FAULT
    terminal.note(f"{counted(checker.number, 'file')} · {counted(len(found), 'problem')}")
    return ExitCode.USAGE if found else ExitCode.OK


def _text(found: Sequence[Found]) -> str:
    return "".join(f"{line}\n" for line in printed(visible(each.text) for each in found))


def _annotations(found: Sequence[Found]) -> str:
    return "".join(f"{each.annotation}\n" for each in found)


def _json(found: Sequence[Found]) -> str:
    return json.dumps([each.wire for each in found], indent=1, ensure_ascii=False) + "\n"


class _Checker:
    """Checks files one by one, and specs also together: two files must not declare one table."""

    def __init__(self) -> None:
        self.number = 0
        self._found: list[Found] = []
        self._specs: dict[str, str] = {}
        self._seen: set[str] = set()

    def check(self, path: str, kind: str) -> None:
        """Check a file, or the files of a folder.

        :param kind: kind of the files; empty to recognise it by the content
        """
        if os.path.isdir(path):
            names = sorted(name for name in os.listdir(path) if is_spec_file(name))
            if not names:
                self._add(path, Problem(f"the folder has no file that ends with {', '.join(SUFFIXES)}"))
            for name in names:
                self._check_file(os.path.join(path, name), kind)
            return
        self._check_file(path, kind)

    def finish(self) -> list[Found]:
        """Return the problems, after specs that are sound by themselves were checked together."""
        if len(self._specs) > 1:
            try:
                parse_files(self._specs.items())
            except SpecError as error:
                self._found += [Found(error.name, problem) for problem in error.problems]
        return self._found

    def _check_file(self, path: str, kind: str) -> None:
        if (place := os.path.abspath(path)) in self._seen:  # also named by a configuration
            return None
        self._seen.add(place)
        self.number += 1
        try:
            text = Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            return self._add(path, Problem("the file is not UTF-8 text"))
        except OSError as error:
            return self._add(path, Problem(f"the file cannot be read: {error.strerror or error}"))
        if path.endswith(".toml"):
            return self._check_config(path)
        try:
            values = _parsed(text, path)
        except YamlError as error:
            return self._add(path, Problem(error.what, line=error.line, column=error.column))
        kind = kind or _kind_of(values)
        if kind == "spec":
            try:
                parse_files(
                    [("spec.json" if path.endswith(".json") and not _has_places(values) else "spec.yaml", text)]
                )
            except SpecError as error:
                return self._add(path, *error.problems)
            self._specs[path] = text
            return None
        return self._add(path, *KINDS[kind](values))

    def _check_config(self, path: str) -> None:
        """Check a configuration, with the files that it names."""
        try:
            config = read_config(Path(path))
        except ConfigError as error:
            place = _TOML_LINE.match(str(error))
            line, column = (place["line"] or place["at"], place["column"]) if place else (None, None)
            what = _TOML_LINE.sub("", str(error)).removeprefix(f"{path}: ")
            return self._add(path, Problem(what, "", _number(line), _number(column)))
        self._add(path, *_waivers(list(config.waivers)), *_owners(list(config.ownership)))
        for kind, named in (("policy", config.policy), ("fleet", config.fleet)):
            if named is not None:
                self.check(named, kind)
        return None

    def _add(self, path: str, *problems: Problem) -> None:
        self._found += [Found(path, problem) for problem in problems]


def _parsed(text: str, path: str) -> Any:
    """Return the values of a file, with their places.

    JSON is read as YAML, which has places; without PyYAML, it is read without them.

    :raises YamlError: if it is neither
    """
    if not path.endswith(".json"):
        return parse_yaml(text)
    try:
        values = json.loads(text)
    except json.JSONDecodeError as error:
        raise YamlError(f"it is not JSON: {error.msg}", error.lineno, error.colno) from None
    try:
        return parse_yaml(text)
    except YamlError:
        return values


def _has_places(values: Any) -> bool:
    return bool(getattr(values, "values_at", None) or getattr(values, "items_at", None))


def _kind_of(values: Any) -> str:
    """Return the kind of a file that has these values; whatever has no mark of another kind is a spec."""
    if isinstance(values, Mapping):
        tables = values.get("tables")
        entries = [entry for entry in tables if isinstance(entry, Mapping)] if isinstance(tables, list) else []
        if _OF_FLEETS & values.keys():
            return "fleet"
        return "policy" if "waivers" in values or any(_ONLY_POLICIES & entry.keys() for entry in entries) else "spec"
    entries = [entry for entry in values if isinstance(entry, Mapping)] if isinstance(values, list) else []
    if any({"code", "reason", "expires"} & entry.keys() for entry in entries):
        return "waivers"
    return "owners" if any({"owner", "severities"} & entry.keys() for entry in entries) else "spec"


def _fleet(values: Any) -> Iterator[Problem]:
    try:
        FleetFile().checked("fleet", values)
    except RequestError as error:
        match = _OF_FLEET.fullmatch(str(error))
        line, column, what = match.groups() if match else (None, None, str(error))
        yield Problem(what, "", _number(line), _number(column))


def _policy(values: Any) -> Iterator[Problem]:
    content = as_json(values)
    if not isinstance(content, Mapping):
        yield from _problem(lambda: Policy.parse(content), PolicyError, values)
        return
    listed = {key: value for key, value in content.items() if key in ("tables", "waivers") and isinstance(value, list)}
    rest = {key: value for key, value in content.items() if key not in listed}
    yield from _problem(lambda: Policy.parse(rest), PolicyError, values)
    if "tables" in listed:
        yield from _each(listed["tables"], values["tables"], lambda one: Policy.parse({"tables": [one]}), PolicyError)
    if "waivers" in listed:
        yield from _waivers(listed["waivers"], values["waivers"])


def _waivers(content: Any, values: Any = None) -> Iterator[Problem]:
    if not isinstance(content, list):
        yield from _problem(lambda: Waivers.parse(content), WaiverError, values)
        return
    yield from _each(content, values, lambda entry: Waivers.parse([entry]), WaiverError)


def _owners(content: Any, values: Any = None) -> Iterator[Problem]:
    if not isinstance(content, list):
        yield Problem("the file has to be a list of entries with table, and owner or severities")
        return
    yield from _each(content, values, Ownership.parse, OwnershipError)


def _each(
    content: Sequence[Any], values: Any, read: Callable[[Any], object], wrong: type[ValueError]
) -> Iterator[Problem]:
    """Yield a problem for each wrong entry, with its place in a file."""
    for number, entry in enumerate(content):
        try:
            read(entry)
        except wrong as error:
            message = _ENTRY.sub(f"entry {number + 1}", str(error))
            mark = _key_in(message, values[number] if values else None) or mark_of(values, number)
            yield _placed(message, mark)


def _problem(read: Callable[[], object], wrong: type[ValueError], values: Any) -> Iterator[Problem]:
    try:
        read()
    except wrong as error:
        mark = _key_in(str(error), values)
        yield _placed(str(error), mark)


def _placed(what: str, mark: Mark | None) -> Problem:
    return Problem(what) if mark is None else Problem(what, "", mark.line, mark.column)


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _key_in(message: str, entry: Any) -> Mark | None:
    """Return the place of the first key of an entry that a message names; None if it names none."""
    named = _words(message)
    keys: Iterable[Any] = entry if isinstance(entry, Mapping) else ()
    return next((key_mark_of(entry, key) for key in keys if str(key) in named), None)


def _words(message: str) -> set[str]:
    return set(re.findall(r"[\w-]+", message.partition(". ")[0]))


#: Checks of files by kind, which are also the flags of the command.
KINDS: Mapping[str, Callable[[Any], Iterator[Problem]]] = {
    "spec": lambda _: iter(()),
    "policy": _policy,
    "fleet": _fleet,
    "waivers": lambda values: _waivers(as_json(values), values),
    "owners": lambda values: _owners(as_json(values), values),
}
