"""The catalogue of rules: its codes, what each rule says of itself, and the page that is made of it."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import airflow_delta_provider
from airflow_delta_provider.domain import checks
from airflow_delta_provider.domain.checks import causes, faults, requests
from airflow_delta_provider.domain.checks.check import (
    on_action,
    on_change,
    on_commit,
    on_demand,
    on_file,
    on_first_commit,
    on_state,
    on_tracked,
    on_transition,
)
from airflow_delta_provider.domain.checks.column_mapping import disabling
from airflow_delta_provider.domain.checks.registry import FAMILIES, RULES, UNKNOWN
from airflow_delta_provider.domain.checks.rule import Rule, Scope
from airflow_delta_provider.domain.report.report import Severity
from scripts.rules_page import PAGE, render

_CHECKS = [module.name for module in pkgutil.walk_packages(checks.__path__, f"{checks.__name__}.")]
PACKAGE = Path(airflow_delta_provider.__file__).parent
CODE = re.compile(rf"\b(?:{'|'.join(family.prefix for family in FAMILIES)})\d\d\b")
SENTENCE = re.compile(r"[A-Z].{5,200}[^.…]\.")
THREAD = re.compile(r"[\w-]+/[\w-]+#\d+")
#: Two to six words in kebab case.
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+){1,5}")
RELEASE = re.compile(r"^## (\d+\.\d+\.\d+)\b", re.MULTILINE)
each_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


def test_codes_are_unique_and_of_their_family():
    codes = [(family.prefix, rule.code) for family in FAMILIES for rule in family.rules]
    assert [code for code, times in Counter(code for _, code in codes).items() if times > 1] == []
    assert [code for prefix, code in codes if not re.fullmatch(rf"{prefix}\d\d", code)] == []


def test_catalogue_has_the_rules_of_every_module():
    modules = map(importlib.import_module, _CHECKS)
    rules = {rule for module in modules for rule in vars(module).values() if isinstance(rule, Rule)} - {UNKNOWN}
    assert sorted({rule.code for rule in rules} ^ RULES.keys()) == []
    assert {id(rule) for rule in rules} == {id(rule) for rule in RULES.values()}


def test_codes_that_the_package_and_its_pages_name_are_in_the_catalogue():
    files = [*PACKAGE.rglob("*.py"), *PAGE.parents[1].rglob("*.md"), PAGE.parents[2] / "README.md"]
    named = {code for file in files for code in CODE.findall(file.read_text(encoding="utf-8"))}
    assert named - RULES.keys() == set()


def test_rules_and_findings_are_made_of_the_catalogue_alone():
    made = re.compile(r"""\bRule\(|\bFinding\(\s*f?["']""")
    elsewhere = [file for file in PACKAGE.rglob("*.py") if PACKAGE / "domain" / "checks" not in file.parents]
    assert [str(file) for file in elsewhere if made.search(file.read_text(encoding="utf-8"))] == []


@each_rule
def test_rule_says_what_is_wrong_what_to_do_and_of_a_table_what_it_can_do(rule: Rule):
    assert rule.title
    assert SENTENCE.fullmatch(rule.remedy)
    assert SENTENCE.fullmatch(rule.effect) or (not rule.effect and not rule.scope.is_table)
    assert all(THREAD.fullmatch(thread) for thread in rule.threads)


@each_rule
def test_name_is_short_and_in_kebab_case(rule: Rule):
    assert NAME.fullmatch(rule.name)
    assert len(rule.name) <= 48


def test_names_are_unique_and_no_code_is_in_one():
    names = [rule.name for rule in (*RULES.values(), UNKNOWN)]
    assert [name for name, times in Counter(names).items() if times > 1] == []
    assert [name for name in names if CODE.search(name.upper())] == []


def test_each_rule_exists_since_a_release():
    releases = RELEASE.findall((PAGE.parents[2] / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert {rule.since for rule in RULES.values()} - {*releases} == set()


def test_requests_and_faults_are_no_rules_about_tables():
    assert {(rule.scope, rule.severity) for rule in requests.FAMILY.rules} == {(Scope.REQUEST, Severity.ERROR)}
    assert {rule.scope for rule in faults.FAMILY.rules} == {Scope.PLATFORM}
    others = [
        rule
        for rule in RULES.values()
        if rule not in (*requests.FAMILY.rules, *faults.FAMILY.rules, *disabling.FAMILY.rules)
    ]
    assert all(rule.scope.is_table for rule in others)


def test_page_of_rules_is_what_the_catalogue_says_now():
    assert PAGE.read_text(encoding="utf-8") == render(), "docs/reference/rules.md is stale: run `make docs`"


def test_page_leads_to_each_family_and_each_thread():
    page = render()
    headings = re.findall(r"^## (.+)$", page, re.MULTILINE)
    anchors = {heading.lower().replace(":", "").replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\(#([^)]+)\)", page)) == anchors
    assert "[trinodb/trino#24910](https://github.com/trinodb/trino/issues/24910)" in page


def test_each_rule_is_named_by_a_test():
    tests = Path(__file__).parents[2]
    named = {code for file in tests.rglob("*.py") for code in CODE.findall(file.read_text(encoding="utf-8"))}
    assert RULES.keys() - named == set()


def _strings(file: Path) -> Iterator[str]:
    """Yield the strings of a module that are not docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


def test_no_code_of_a_rule_is_a_string_outside_the_package_of_its_family():
    """What an audit has to know of a rule is in its definition; who means a rule imports it. Only causes use codes."""
    elsewhere = []
    for file in {*PACKAGE.rglob("*.py")} - {Path(causes.__file__)}:
        named = {code for text in _strings(file) for code in CODE.findall(text)}
        home = {rule.code for rule in _rules_in(file.parent)} if named else set()
        elsewhere += [f"{file}: {code}" for code in sorted(named - home)]
    assert elsewhere == []


def test_causes_name_rules_by_codes_that_exist():
    named = {code for consequence, each in causes.CAUSES.items() for code in (consequence, *each.all_codes)}
    assert sorted(named - set(RULES)) == []


def _rules_in(folder: Path) -> list[Rule]:
    homes = (Path(importlib.import_module(name).__file__ or "") for name in _CHECKS)
    names = [name for name, home in zip(_CHECKS, homes) if home.parent == folder]
    return [rule for name in names for rule in vars(importlib.import_module(name)).values() if isinstance(rule, Rule)]


def test_each_rule_about_the_log_of_a_delta_table_has_a_check():
    registered = [on_action, on_change, on_commit, on_demand, on_file, on_first_commit, on_state, on_tracked]
    checked = set().union(on_transition.rules, *(registry.rules for registry in registered))
    of_logs = {Scope.STATE, Scope.COMMIT, Scope.PAIR, Scope.HISTORY}
    families = ("LG", "AC", "TF", "MD", "CM", "UT", "TW", "RT", "DF")
    rules = {rule for rule in RULES.values() if rule.scope in of_logs and rule.family.prefix in families}
    assert sorted(rule.code for rule in rules - checked) == []
