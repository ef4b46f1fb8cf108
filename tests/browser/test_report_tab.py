"""The tab of a task and the list of tables, as a person finds them: Airflow's own services, and Chromium."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest

from airflow_delta_provider.domain.checks.registry import RULES
from tests.browser.chromium import PROGRAM, Chromium
from tests.browser.lake import make_lake
from tests.system.airflow_services import airflow_home, services_of
from tests.system.process_tree import wait_for

pytestmark = [pytest.mark.soak, pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed")]

#: The document that Airflow shows within its own.
FRAME = "document.querySelector('iframe').contentDocument"


@dataclass
class Site:
    """Airflow after a run.

    :param run: path of the run in Airflow's UI
    """

    browser: Chromium
    address: str
    run: str
    images: Path

    def open_tab(self, task: str) -> None:
        """Open the tab of a task, and wait for its frame."""
        self.browser.go(f"{self.address}{self.run}/tasks/{task}/plugin/delta")
        self.browser.wait_for(f"{FRAME}.querySelector('h1') && {FRAME}.readyState === 'complete'", 90)

    def text(self) -> str:
        """Return what is read in the frame."""
        return str(self.browser.value(f"{FRAME}.body.innerText"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("airflow")
    images = pytestconfig.getoption("--images")
    home = airflow_home(folder, Path(__file__).with_name("dags").glob("*.py"))
    home.finish_migration(home.start_migration())
    lake = Path(tempfile.mkdtemp(prefix="lake-"))
    make_lake(lake)
    with services_of(home) as services, Chromium(folder / "profile") as browser:
        run = services.trigger("guard_orders", lake=str(lake))
        wait_for(lambda: run.state in ("success", "failed"), "the end of the run", 300, every=1)
        assert run.state == "success", [run.task_log(task, 1)[-3000:] for task in ("audit", "every", "plan")]
        browser.go(f"{services.address}/auth/token/login")
        run_path = f"/dags/guard_orders/runs/{quote(run.run_id, safe='')}"
        yield Site(browser, services.address, run_path, Path(images) if images else folder)
    shutil.rmtree(lake)


def test_tab_shows_the_report(site: Site) -> None:
    browser = site.browser
    browser.prefer("light")
    site.open_tab("audit")
    browser.wait_for("[...document.querySelectorAll('a')].some(a => a.textContent.trim() === 'Delta')")
    text = site.text()
    for said in ("VIOLATED", "MD03", RULES["MD03"].title, RULES["MD03"].remedy, "orders"):
        assert said in text
    label = browser.value(f"{FRAME}.querySelector('svg[role=img]').getAttribute('aria-label')")
    for said in ("adds typeWidening", "widens id from int to bigint", "renames market to store", "drops fax", "MD03"):
        assert said in label
    assert browser.value(f"{FRAME}.querySelector('svg[role=img]').getBoundingClientRect().width") > 300
    browser.picture(site.images / "report-tab.png", 1250)


def test_tab_follows_the_theme_that_airflow_has(site: Site) -> None:
    browser, paper = site.browser, f"getComputedStyle({FRAME}.body).backgroundColor"
    site.open_tab("audit")
    seen = {}
    for system in ("light", "dark"):
        browser.prefer(system)
        for chosen in (None, "light", "dark"):
            change = (
                "localStorage.removeItem('theme')" if chosen is None else f"localStorage.setItem('theme','{chosen}')"
            )
            browser.value(change)
            site.open_tab("audit")
            seen[system, chosen] = browser.value(paper)
    light, dark = seen["light", "light"], seen["dark", "dark"]
    assert light != dark
    assert seen["dark", "light"] == light
    assert seen["light", "dark"] == dark
    browser.picture(site.images / "report-tab-dark.png", 1250)
    browser.value("localStorage.removeItem('theme')")
    browser.prefer("light")


def test_plan_shows_difference_steps_and_what_breaks(site: Site) -> None:
    site.open_tab("plan")
    text = site.text()
    for said in ("Plan", "What is declared", "What breaks", "How it is undone", "deletionVectors", "shop"):
        assert said in text
    assert site.browser.value(f"{FRAME}.querySelectorAll('.diff .added').length") > 0
    site.browser.picture(site.images / "report-tab-plan.png", 1250)


def test_mapped_task_shows_its_own_table(site: Site) -> None:
    for index, table, other in ((0, "/orders", "/returns"), (1, "/returns", "/orders")):
        site.browser.go(f"{site.address}{site.run}/tasks/mapped/mapped/{index}/plugin/delta")
        site.browser.wait_for(f"{FRAME}.querySelector('h1')", 90)
        assert table in site.text()
        assert other not in site.text()


def test_task_without_a_report_says_so(site: Site) -> None:
    site.open_tab("no_table")
    assert "No Delta report" in site.text()


def test_names_run_nothing_and_policies_are_kept(site: Site) -> None:
    browser = site.browser
    for task in ("every", "audit", "plan"):
        site.open_tab(task)
        browser.value(f"[...{FRAME}.querySelectorAll('details')].forEach(each => each.open = true)")
        assert browser.value(f"{FRAME}.title") != "run"
    site.open_tab("every")
    assert "script>document.title='run'" in site.browser.value(f"{FRAME}.body.textContent")
    refused = [message for message in browser.messages if "Content Security Policy" in message]
    assert refused == []


def test_links_of_the_tab_lead_to_rules_and_to_the_list(site: Site) -> None:
    browser = site.browser
    site.open_tab("audit")
    links = f"[...{FRAME}.querySelectorAll('a')]"
    browser.value(f"{links}.find(a => a.textContent.includes('Documentation of MD03')).click()")
    browser.wait_for(f"{FRAME}.body.innerText.includes('Checks')")
    assert RULES["MD03"].remedy in site.text()
    site.open_tab("audit")
    browser.value(f"{links}.find(a => a.textContent === 'All Delta tables').click()")
    browser.wait_for(f"{FRAME}.querySelector('form[role=search]')")


def test_page_of_tables_is_in_the_navigation_and_can_be_searched(site: Site) -> None:
    browser = site.browser
    browser.go(f"{site.address}/plugin/delta-tables")
    browser.wait_for(f"{FRAME}.querySelector('table')", 90)
    text = site.text()
    for said in ("orders", "returns", "nasty", "VIOLATED", "PASS", "guard_orders · every", "detail"):
        assert said in text
    browser.picture(site.images / "delta-tables.png", 700)
    browser.value(f"{FRAME}.querySelector('input[name=q]').value = 'returns'")
    browser.value(f"{FRAME}.querySelector('form').requestSubmit()")
    browser.wait_for(f"{FRAME}.body.innerText.includes('2 rows found')")
    assert "nasty" not in site.text()
    browser.value(f"{FRAME}.querySelector('tbody a').click()")
    browser.wait_for(f"{FRAME}.body.innerText.includes('All Delta tables')")


def test_extra_links_lead_to_the_pages(site: Site) -> None:
    browser = site.browser
    links = browser.value(
        f"fetch('/api/v2{site.run.replace('/runs/', '/dagRuns/')}/taskInstances/audit/links').then(a => a.json())"
    )["extra_links"]
    for name, said in (("Delta page", "MD03"), ("Delta tables", "Delta tables")):
        assert links[name].startswith(f"{site.address}/delta-provider/")
        browser.go(links[name])
        assert said in browser.value("document.body.innerText")


def test_keyboard_and_screen_reader_reach_everything(site: Site) -> None:
    browser = site.browser
    browser.go(f"{site.address}/delta-provider{site.run}/tasks/audit")
    found = browser.accessible()
    roles = {role for role, _ in found}
    assert {"banner", "main", "contentinfo", "heading", "link"} <= roles
    assert any(role in ("image", "img") and "widens id" in name for role, name in found)
    focused = []
    for _ in range(12):
        browser.press("Tab", 9)
        focused.append(
            browser.value("document.activeElement.tagName + ' ' + document.activeElement.textContent.trim()")
        )
    assert any(each.startswith("A All Delta tables") for each in focused)
    changes = next(n for n, each in enumerate(focused) if each.startswith("SUMMARY") and "changes of protocol" in each)
    for _ in range(len(focused) - 1 - changes):
        browser.send("Input.dispatchKeyEvent", type="keyDown", key="Tab", windowsVirtualKeyCode=9, modifiers=8)
    browser.press("Enter", 13, "\r")
    browser.wait_for("document.querySelector('.events').open")
    found = browser.accessible()
    assert ("table", "Changes of protocol and columns") in found
    assert {"columnheader", "rowheader"} <= {role for role, _ in found}
