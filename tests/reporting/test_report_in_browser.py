"""The report in a real browser: Debian's chromium, driven by selenium; skipped if it is absent."""

import shutil

import pytest
from made_up_runs import write_run

from rankpursuit.reporting.report import write_report
from rankpursuit.reporting.results import load_results

FLAGS = [
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--disable-dev-shm-usage",
]
PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="no chromium and chromedriver: apt-get install chromium chromium-driver",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver")
    folder = tmp_path_factory.mktemp("browser")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in [*FLAGS, f"--user-data-dir={folder / 'profile'}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    run = load_results(write_run(folder, table=2, metrics=("disagreement", "squared_error")))
    write_report([run], folder / "report.html")
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.get((folder / "report.html").as_uri())
    yield driver
    driver.quit()


def cells(browser, table, column):
    script = (
        "return [...document.querySelectorAll('table')[arguments[0]].tBodies[0].rows]"
        ".map((row) => row.cells[arguments[1]].textContent)"
    )
    return browser.execute_script(script, table, column)


def click(browser, table, column):
    """Click a header and return what it says of its order."""
    script = (
        "const header = document.querySelectorAll('table')[arguments[0]].tHead.rows[0]"
        ".cells[arguments[1]]; header.querySelector('button').click();"
        "return header.getAttribute('aria-sort')"
    )
    return browser.execute_script(script, table, column)


def test_console_is_silent_and_nothing_is_requested_but_the_page(browser):
    assert browser.get_log("browser") == []
    asked = [entry["message"] for entry in browser.get_log("performance")]
    asked = [message for message in asked if "Network.requestWillBeSent" in message]
    assert len(asked) >= 1
    assert [message for message in asked if '"url":"http' in message] == []


def test_tables_and_figures_are_seen(browser):
    tables = "return [...document.querySelectorAll('main > section > .box > table')]"
    sizes = browser.execute_script(f"{tables}.map((e) => [e.clientWidth, e.rows.length])")
    assert len(sizes) == 7  # claims; errors, sparsity and parameters of both metrics
    assert min(width for width, _ in sizes) > 200
    assert min(rows for _, rows in sizes) == 4  # a header and the three claims about Table 2
    widths = "return [...document.querySelectorAll('figure svg')].map((e) => e.clientWidth)"
    found = browser.execute_script(widths)
    assert len(found) == 11
    assert min(found) > 500


def test_click_on_a_header_sorts_and_a_second_click_turns_round(browser):
    table = 1  # after the claims: errors, the first part
    before = cells(browser, table, 1)
    numbers = [float(text.split()[0]) for text in before]
    assert click(browser, table, 1) == "ascending"
    assert [float(text.split()[0]) for text in cells(browser, table, 1)] == sorted(numbers)
    assert click(browser, table, 1) == "descending"
    down = [float(text.split()[0]) for text in cells(browser, table, 1)]
    assert down == sorted(numbers, reverse=True)
    assert len(set(numbers)) > 1


def test_click_on_names_sorts_by_text_and_only_one_column_is_sorted(browser):
    click(browser, 1, 1)
    assert click(browser, 1, 0) == "ascending"
    names = cells(browser, 1, 0)
    assert names == sorted(names, key=str.lower)
    script = "return document.querySelectorAll('table')[1].querySelectorAll(arguments[0]).length"
    assert browser.execute_script(script, "th[aria-sort]:not([aria-sort=none])") == 1


def test_cells_without_a_result_stay_last_in_both_orders(browser):
    script = "document.querySelectorAll('table')[1].tBodies[0].rows[0].cells[2]"
    browser.execute_script(f"delete {script}.dataset.sort; {script}.textContent = 'nothing'")
    for _ in range(2):
        click(browser, 1, 2)
        assert cells(browser, 1, 2)[-1] == "nothing"


@pytest.mark.parametrize("opened", [False, True])
def test_nothing_is_wider_than_a_phone(browser, opened):
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    set_open = "for (const d of document.querySelectorAll('details')) d.open = arguments[0]"
    browser.execute_script(set_open, opened)
    width = browser.execute_script("return document.documentElement.scrollWidth")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert width <= 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_of_page_and_figures_follows_the_colour_scheme(browser, scheme):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    script = (
        "const light = (color) => color.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0);"
        "const page = getComputedStyle(document.body);"
        "const text = getComputedStyle(document.querySelector('svg text'));"
        "return [light(page.backgroundColor), light(page.color), light(text.fill)]"
    )
    page, words, drawn = browser.execute_script(script)
    assert (page > 600) == (scheme == "light")
    assert abs(page - words) > 400
    assert drawn == words


def test_everything_is_open_on_paper(browser):
    browser.execute_script("for (const d of document.querySelectorAll('details')) d.open = false")
    browser.print_page()
    closed = "return document.querySelectorAll('details:not([open])').length"
    assert browser.execute_script(closed) == 0
    assert browser.execute_script("return document.querySelectorAll('details').length") == 2
