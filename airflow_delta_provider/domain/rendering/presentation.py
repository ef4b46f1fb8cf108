"""How a report is to be shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from airflow_delta_provider.domain.rendering.rule_link import RuleLinks
from airflow_delta_provider.domain.rendering.source_tree import SourceTree
from airflow_delta_provider.domain.rendering.style import PLAIN, Style
from airflow_delta_provider.domain.report.report_place import ReportPlace


class Detail(IntEnum):
    """How much of a report is shown where that can be chosen."""

    LITTLE = 0
    NORMAL = 1
    MUCH = 2


@dataclass(frozen=True, kw_only=True)
class Presentation:
    """What the formats need to know in addition to the report; each takes of it what it can use.

    :param style: of text: plain, or with the colours of a terminal
    :param width: of text, in columns
    :param detail: of text
    :param rules: where rules are documented
    :param place: where the whole report is kept, if that was tried
    :param sources: of SARIF and GitHub: the repository that tables and files are located in, where it is known
    :param undetermined_fails: of JUnit: whether a table that is UNDETERMINED is a failure; else it is skipped
    :param new_only: of JUnit and GitHub: whether findings that were known before fail nothing, as with a baseline
    """

    style: Style = PLAIN
    width: int = 100
    detail: Detail = Detail.NORMAL
    rules: RuleLinks = field(default_factory=RuleLinks)
    place: ReportPlace | None = None
    sources: SourceTree | None = None
    undetermined_fails: bool = False
    new_only: bool = False
