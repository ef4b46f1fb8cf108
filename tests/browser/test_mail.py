"""The mail of an alert as it is read: light and dark, in a window and on a phone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.report.report import JobReport
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.exceptions import DeltaViolationError
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.notifications.violation import DeltaViolationNotifier
from tests.browser.chromium import PROGRAM, Chromium
from tests.browser.lake import COLUMN, make_lake

pytestmark = [pytest.mark.soak, pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed")]

#: What a program for mails puts around one: it is as light or dark as its reader prefers.
AROUND = """<!DOCTYPE html><html><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<meta name="viewport" content="width=device-width, initial-scale=1"></head><body>{}</body></html>"""
SIZES = {"window": (760, 600), "phone": (360, 780)}
#: The smallest contrast of texts to what is behind them: of signs, and of all else.
CONTRASTS = """(() => {
  const canvas = document.body.appendChild(document.createElement('i'));
  canvas.style.background = 'Canvas';
  const light = color => {
    const linear = color.match(/[0-9.]+/g).slice(0, 3).map(Number)
      .map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05;
  };
  const behind = node => {
    for (; node; node = node.parentElement) {
      const color = getComputedStyle(node).backgroundColor;
      if (color !== 'rgba(0, 0, 0, 0)') return color;
    }
    return getComputedStyle(canvas).backgroundColor;
  };
  const found = {signs: 99, texts: 99};
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim()) continue;
    const [a, b] = [light(getComputedStyle(node).color), light(behind(node))];
    const kind = node.matches('td[width]') ? 'signs' : 'texts';
    found[kind] = Math.min(found[kind], Math.max(a, b) / Math.min(a, b));
  }
  canvas.remove();
  return found;
})()"""


def mail_about(lake: Path, *tables: str) -> str:
    """Return what is sent about the audit of tables, as if they were in ``s3a://lake``."""
    report = run(JobRequest(tuple(str(lake / table) for table in tables), AuditOptions()), python_session())
    report = JobReport.from_json(json.loads(json.dumps(report.to_json()).replace(str(lake), "s3a://lake")))
    task = {"dag_id": "guard_orders", "task_id": "audit", "run_id": "scheduled__2026-01-02T00:00:00+00:00"}
    instance = SimpleNamespace(**task, map_index=-1, try_number=1, log_url="https://airflow.example.com/log")
    sent: list[str] = []
    notifier = DeltaViolationNotifier(notifiers=[lambda context: sent.append(cast("Any", context)["delta"].html)])
    notifier(cast("Any", {"ti": instance, "exception": DeltaViolationError(report)}))
    [mail] = sent
    return mail


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("browser") / "profile") as browser:
        yield browser


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    make_lake(tmp_path / "lake")
    return tmp_path / "lake"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_mail_is_read_in_light_and_dark_and_on_a_phone(
    browser: Chromium, lake: Path, tmp_path: Path, pytestconfig: pytest.Config, size: str, theme: str
) -> None:
    (tmp_path / "mail.html").write_text(AROUND.format(mail_about(lake, "orders")), encoding="utf-8")
    browser.prefer(theme)
    browser.resize(*SIZES[size], phone=size == "phone")
    browser.go((tmp_path / "mail.html").as_uri())
    text = browser.value("document.body.innerText")
    for said in ("VIOLATED", RULES["MD03"].title, RULES["MD03"].effect, RULES["MD03"].remedy, "s3a://lake/orders"):
        assert said in text
    picture = "document.querySelector('table[role=img]')"
    for said in ("adds typeWidening", "widens id from int to bigint", "renames market to store", "MD03 since"):
        assert said in browser.value(f"{picture}.getAttribute('aria-label')")
    width = SIZES[size][0]
    assert browser.value("document.documentElement.scrollWidth") <= width, "nobody has to scroll sideways"
    assert 0.7 * width < browser.value(f"{picture}.getBoundingClientRect().width") < width
    found = browser.value(CONTRASTS)
    assert found["texts"] >= 4.5
    assert found["signs"] >= 3
    dark = browser.value("matchMedia('(prefers-color-scheme: dark)').matches")
    assert dark == (theme == "dark")
    images = pytestconfig.getoption("--images")
    if (size, theme) == ("window", "light"):
        browser.whole_page(Path(images or tmp_path) / "alert-mail.png")


def test_picture_puts_each_sign_above_its_version(browser: Chromium, lake: Path, tmp_path: Path) -> None:
    (tmp_path / "mail.html").write_text(AROUND.format(mail_about(lake, "orders")), encoding="utf-8")
    browser.resize(*SIZES["window"])
    browser.go((tmp_path / "mail.html").as_uri())
    middles = browser.value(
        "[...document.querySelectorAll('table[role=img] td')].map(cell => {const box = cell.getBoundingClientRect();"
        " return [cell.textContent, (box.left + box.right) / 2]})"
    )
    at = {text.rstrip("\ufe0e"): middle for text, middle in middles}
    assert at["↔"] == pytest.approx(at["4"], abs=1)
    assert at["+"] == pytest.approx(at["8"], abs=1)


def test_names_of_tables_run_nothing(browser: Chromium, lake: Path, tmp_path: Path) -> None:
    folder = lake / "orders"
    folder.rename(lake / COLUMN.replace("/", "_"))
    (tmp_path / "mail.html").write_text(AROUND.format(mail_about(lake, COLUMN.replace("/", "_"))), encoding="utf-8")
    browser.go((tmp_path / "mail.html").as_uri())
    assert browser.value("document.title") != "run"
    assert "script>document.title='run'" in browser.value("document.body.textContent")
    assert browser.value("document.scripts.length") == 0
