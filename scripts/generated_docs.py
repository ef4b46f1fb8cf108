"""Writes the pages of the docs that are made of the code, the report's schema, and pictures: part of ``make docs``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from scripts import (
    command_line_page,
    compatibility_page,
    configuration_page,
    curves_picture,
    engine_facts,
    engines_page,
    folders_picture,
    operators_page,
    remedies_page,
    report_picture,
    report_schema,
    rules_catalogue,
    rules_page,
    spec_page,
)
from scripts.protocol_coverage import page as coverage_page

#: What each generated file has to hold.
PAGES: Mapping[Path, Callable[[], str]] = {
    rules_page.PAGE: rules_page.render,
    remedies_page.PAGE: remedies_page.render,
    rules_catalogue.CATALOGUE: rules_catalogue.render,
    coverage_page.PAGE: coverage_page.render,
    command_line_page.PAGE: command_line_page.render,
    compatibility_page.PAGE: compatibility_page.render,
    configuration_page.PAGE: configuration_page.render,
    engines_page.PAGE: engines_page.render,
    engine_facts.FACTS: engine_facts.render,
    engine_facts.SCHEMA: engine_facts.render_schema,
    operators_page.OPERATORS_PAGE: operators_page.operators,
    operators_page.SENSORS_PAGE: operators_page.sensors,
    operators_page.NOTIFIERS_PAGE: operators_page.notifiers,
    spec_page.PAGE: spec_page.render,
    spec_page.SCHEMA: spec_page.render_schema,
    report_schema.SCHEMA: report_schema.render,
    report_picture.PICTURE: report_picture.render,
    report_picture.DEMO: report_picture.render_demo,
    folders_picture.PICTURE: folders_picture.render,
    **curves_picture.pictures(),
}


def main() -> None:
    """Write them."""
    for page, render in PAGES.items():
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
