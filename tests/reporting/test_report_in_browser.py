"""The report in a real browser: Debian's chromium, driven by selenium; skipped if it is absent."""

import itertools
import shutil
from pathlib import Path

import pytest
from made_up import write_results
from made_up_runs import write_run

from rankpursuit.reporting.report import write_report
from rankpursuit.reporting.results import load_results

FLAGS = [
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--disable-dev-shm-usage",
]
HEIGHTS = {1400: 900, 800: 1000, 390: 844}
SCRIPTS = (Path(__file__).parent / "in_browser.js").read_text(encoding="utf-8")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None or DRIVER is None,
        reason="no chromium and chromedriver: apt-get install chromium chromium-driver",
    ),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver")
    folder = tmp_path_factory.mktemp("browser")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in [*FLAGS, f"--user-data-dir={folder / 'profile'}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    metrics = ("disagreement", "squared_error")
    runs = [write_run(folder, table=5, metrics=metrics), write_results(folder / "jester", table=1)]
    write_report([load_results(run) for run in runs], folder / "report.html")
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.get((folder / "report.html").as_uri())
    yield driver
    driver.quit()


def ask(browser, call):
    """Return what a function of in_browser.js returns."""
    return browser.execute_script(f"{SCRIPTS}\nreturn {call};")


def unfold(browser, opened=True):
    """Open or close everything that can be folded."""
    script = "for (const d of document.querySelectorAll('details')) d.open = arguments[0]"
    browser.execute_script(script, opened)


def set_width(browser, width):
    size = {"width": width, "height": HEIGHTS[width], "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def set_scheme(browser, scheme):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def cells(browser, table, column):
    script = (
        "return [...document.querySelectorAll('.box table')[arguments[0]].tBodies[0].rows]"
        ".map((row) => row.cells[arguments[1]].textContent)"
    )
    return browser.execute_script(script, table, column)


def click(browser, table, column):
    """Click a header and return what it says of its order."""
    script = (
        "const header = document.querySelectorAll('.box table')[arguments[0]].tHead.rows[0]"
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
    unfold(browser)
    tables = "return [...document.querySelectorAll('.box table')]"
    sizes = browser.execute_script(f"{tables}.map((e) => [e.clientWidth, e.rows.length])")
    first = 3 + 2 * 3  # errors, sparsity, parameters; two tables of tests of three groups
    both = first + 2 * (3 + 2 * 2)  # two groups and two metrics
    assert len(sizes) == 2 + both  # next to the published errors; claims and commands
    assert min(width for width, _ in sizes) > 200
    assert min(rows for _, rows in sizes) == 4  # a header and three rows of comparisons
    widths = "return [...document.querySelectorAll('figure svg')].map((e) => e.clientWidth)"
    found = browser.execute_script(widths)
    assert len(found) == 3 + 2 * 4  # curves of the first run are of widths only
    assert min(found) > 250


def test_click_on_a_header_sorts_and_a_second_click_turns_round(browser):
    table = 0  # errors, the first part
    before = cells(browser, table, 1)
    numbers = [float(text.split()[0]) for text in before]
    assert click(browser, table, 1) == "ascending"
    assert [float(text.split()[0]) for text in cells(browser, table, 1)] == sorted(numbers)
    assert click(browser, table, 1) == "descending"
    down = [float(text.split()[0]) for text in cells(browser, table, 1)]
    assert down == sorted(numbers, reverse=True)
    assert len(set(numbers)) > 1


def test_click_on_names_sorts_by_text_and_only_one_column_is_sorted(browser):
    click(browser, 0, 1)
    assert click(browser, 0, 0) == "ascending"
    names = cells(browser, 0, 0)
    assert names == sorted(names, key=str.lower)
    script = (
        "return document.querySelectorAll('.box table')[0].querySelectorAll(arguments[0]).length"
    )
    assert browser.execute_script(script, "th[aria-sort]:not([aria-sort=none])") == 1


def test_cells_without_a_result_stay_last_in_both_orders(browser):
    script = "document.querySelectorAll('.box table')[2].tBodies[0].rows[0].cells[2]"
    browser.execute_script(f"delete {script}.dataset.sort; {script}.textContent = 'nothing'")
    for _ in range(2):
        click(browser, 2, 2)
        assert cells(browser, 2, 2)[-1] == "nothing"


@pytest.fixture(params=HEIGHTS)
def width(browser, request):
    """Make the window so wide."""
    set_width(browser, request.param)
    yield request.param
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("opened", [False, True])
def test_page_does_not_overflow_and_nothing_is_cut(browser, width, opened):
    unfold(browser, opened)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert ask(browser, "cutOff()") == []


def test_first_screen_tells_how_much_agrees_with_the_paper(browser, width):
    browser.execute_script("scrollTo(0, 0)")
    bottom = "return document.querySelector(arguments[0]).getBoundingClientRect().bottom"
    assert browser.execute_script(bottom, ".agreement") < HEIGHTS[width]


def test_tables_need_no_scrolling_on_a_desk(browser):
    set_width(browser, 1400)
    unfold(browser)
    script = (
        "return [...document.querySelectorAll('.box')].map((e) => e.scrollWidth - e.clientWidth)"
    )
    assert max(browser.execute_script(script)) <= 0


def test_contents_stay_in_sight(browser, width):
    browser.execute_script("scrollTo(0, document.documentElement.scrollHeight)")
    top = browser.execute_script("return document.querySelector('nav').getBoundingClientRect().top")
    assert abs(top) < 1


def test_first_column_and_header_stay_in_sight(browser):
    set_width(browser, 390)
    found = ask(browser, "scrolledTable()")
    assert found["scrolled"] > 0
    assert found["first"] == found["box"]
    assert found["header"] == found["top"]


def test_link_to_a_claim_opens_its_numbers(browser):
    unfold(browser, False)
    script = (
        "const claim = document.querySelector('.claims li:has(details)');"
        "if (!claim) return null; location.hash = claim.id; return claim.id"
    )
    claim = browser.execute_script(script)
    assert claim is not None
    opened = f"return document.querySelector('#{claim} details').open"
    assert browser.execute_script(opened)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_the_contrast_of_wcag_aa(browser, scheme):
    set_scheme(browser, scheme)
    set_width(browser, 1400)
    unfold(browser)
    measured = ask(browser, "contrasts()")
    assert len(measured) > 200
    assert [one for one in measured if one["ratio"] < one["needed"]] == []


def test_marks_of_verdicts_differ_in_lightness(browser):
    lights = sorted(ask(browser, "lightOfMarks()"))
    assert len(lights) == 4
    ratios = [(b + 0.05) / (a + 0.05) for a, b in itertools.pairwise(lights)]
    assert min(ratios) > 1.4


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_of_page_and_figures_follows_the_colour_scheme(browser, scheme):
    set_scheme(browser, scheme)
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
    unfold(browser, False)
    browser.print_page()
    closed = "return document.querySelectorAll('details:not([open])').length"
    assert browser.execute_script(closed) == 0
    assert browser.execute_script("return document.querySelectorAll('details').length") > 4
