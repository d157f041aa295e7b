"""The report as text: self-contained, escaped, honest about what is missing."""

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest
from jinja2 import UndefinedError
from made_up import write_results
from made_up_runs import ALGORITHMS, write_run
from matplotlib.figure import Figure

from rankpursuit.errors import ResultsError
from rankpursuit.reporting.coverage import size_note
from rankpursuit.reporting.figures import CaptionedFigure
from rankpursuit.reporting.html import inline_svg, render
from rankpursuit.reporting.report import render_report, write_report
from rankpursuit.reporting.report_content import Section
from rankpursuit.reporting.results import load_results
from rankpursuit.reporting.table import EMPTY, Cell, Part, Table

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """The tags of a page, and whether they close in order."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.links, self._open = [], [], [], []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self._open += [] if tag in VOID else [tag]
        found = dict(attrs)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found[key] for key in ("href", "src", "xlink:href") if key in found]

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag):
        assert self._open.pop() == tag


def report(tmp_path, *folders):
    path = tmp_path / "out" / "report.html"
    write_report([load_results(folder) for folder in folders], path)
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    one = write_run(folder, name="one", table=2)
    two = write_run(folder, name="two", table=1, metrics=("disagreement", "squared_error"))
    return report(folder, one, two)


def test_page_refers_to_nothing_outside(text):
    page = Page(text)
    inside = {f"#{name}" for name in page.ids}
    assert {link for link in page.links if link not in inside} == {"data:,"}
    assert re.findall(r"https?:|//[a-z]|@import|url\((?!#)", text) == []
    assert [name for name in re.findall(r"url\((#[^)]*)\)", text) if name not in inside] == []


def test_identifiers_differ(text):
    ids = Page(text).ids
    assert len(ids) > 100
    assert len(set(ids)) == len(ids)


def test_runs_stand_in_the_order_of_the_tables_after_the_summary(text):
    places = [text.index(f'<section id="{name}"') for name in ("summary", "run-1-two", "run-2-one")]
    assert places == sorted(places)


def test_verdicts_tables_tests_figures_and_provenance_are_there(text):
    assert "Claims of the paper" in text
    assert "undecided: " in text
    n_figures = 5 * 3 + 2  # of three metrics of runs, and two with published errors
    assert Page(text).tags.count("svg") == n_figures
    for title in ("Sparsity", "Chosen parameters", "Significance tests", "packages numpy"):
        assert title in text


def test_verdicts_come_with_the_numbers_behind_them(tmp_path):
    folder = write_results(tmp_path / "jester", table=1, errors={"ranking_pursuit": 0.45})
    text = report(tmp_path, folder)
    verdict = "<h4>jester-pursuit-beats-regression: does not hold, 0 of 6 comparisons agree</h4>"
    assert f"{verdict}<ul><li><b>against:</b> 20-40: Ranking Pursuit less RLS +0.0250" in text
    assert re.search(r"Of 7 claims: holds: \d, partly: \d, does not hold: \d, undecided: 1", text)


def test_small_run_is_marked_at_the_top_and_in_its_section(text):
    said = "NOT the paper's size: 4 users"
    assert unescape(text).count(said) == 4  # summary and section of two runs, not under every table


def test_run_of_the_papers_size_has_no_warning(tmp_path):
    algorithms = {label: ALGORITHMS[label] for label in ("rls", "ranking_pursuit")}
    folder = write_run(tmp_path, repeats=10, declared_repeats=10, users=300, algorithms=algorithms)
    text = report(tmp_path, folder)
    assert 'class="warning"' not in text
    assert f'<p class="note">{size_note(load_results(folder))}</p>' in text
    assert "no claims to judge" in text


def test_synthetic_ratings_are_named_in_the_title_the_section_and_every_figure(tmp_path):
    real = report(tmp_path, write_run(tmp_path, name="real"))
    assert "SYNTHETIC" not in real
    text = report(tmp_path, write_run(tmp_path, name="drawn", data="synthetic"))
    title = "what was measured, with SYNTHETIC ratings"
    assert f"{title}</title>" in text
    assert f"{title}</h1>" in text
    assert re.search(r"<h2>drawn, SYNTHETIC ratings", text)
    figures = re.findall(r"<figure.*?</figure>", text, flags=re.DOTALL)
    assert len(figures) >= 4
    assert all("SYNTHETIC ratings: drawn from a model" in figure for figure in figures)


def test_partial_run_says_what_is_missing(tmp_path):
    leave_out = (("rls", "20-40"), ("rls", "60-80"), ("rank_rls", "60-80"))
    folder = write_run(tmp_path, repeats=2, declared_repeats=3, leave_out=leave_out)
    text = report(tmp_path, folder)
    assert "RLS: everything" in text
    assert "RankRLS: repeat 3 of 20-40, everything of 60-80" in text
    assert "<svg" in text


def test_everything_from_outside_is_escaped(tmp_path):
    results = load_results(write_run(tmp_path))
    names = {"name": 'a"&<script>alert(1)<'}
    names["algorithms"] = {"<i>evil</i>": results.experiment.algorithms["rls"]}
    evil = replace(results, experiment=results.experiment.model_copy(update=names))
    path = tmp_path / "report.html"
    write_report([evil], path)
    text = path.read_text(encoding="utf-8")
    assert Page(text).tags.count("script") == 1
    assert "<i>" not in text
    assert "&lt;i&gt;evil&lt;/i&gt;" in text
    assert "rp-run &lt;x&gt; &amp; y" in text


def test_names_that_are_no_names_are_refused(tmp_path):
    folder = write_run(tmp_path, name="../up", algorithms={"<i>evil</i>": ALGORITHMS["rls"]})
    with pytest.raises(ResultsError, match=r"config.yaml: name: expected letters.*<i>evil</i>"):
        load_results(folder)


def test_cell_is_sorted_by_its_number_and_bold_if_best():
    part = Part("method", {"A & B": (Cell("0.4", " ± 0.1", True, {"mean": 0.4}), EMPTY)})
    table = Table("id", "T", ("x", "y"), (part,), ("said", "new"))
    found = render_report([Section("a", "A", notes=("said",), tables=[table])], [])
    assert '<th scope="row">A &amp; B</th><td data-sort="0.4"><b>0.4</b> ± 0.1</td>' in found
    assert f"<td>{EMPTY.text}</td>" in found
    assert found.count('<p class="note">new</p>') == 1
    assert found.count('<p class="note">said</p>') == 1  # in the section, not under its table


def test_section_without_figures_and_tests_says_so():
    found = render_report([Section("a", "A")], [])
    assert "<p>Nothing to draw yet.</p>" in found
    assert "Significance tests" not in found


def test_only_the_drawing_itself_is_not_escaped():
    figure = Figure()
    figure.text(0.5, 0.5, "<i>drawn</i>")
    drawn = CaptionedFigure('<i>"name', '<i>"caption', figure)
    hostile = "</style><i>'\"&"
    table = Table(hostile, hostile, (hostile,), (Part(hostile, {hostile: (Cell(hostile),)}),))
    words = (hostile,)
    section = Section(hostile, hostile, words, words, [table], [table], [drawn], {hostile: hostile})
    page = Page(render_report([section], []))
    assert page.tags.count("svg") == 1
    assert page.tags.count("style") == 1
    assert "i" not in page.tags


def test_name_that_a_template_lacks_is_an_error():
    with pytest.raises(UndefinedError, match="title"):
        render("report.html", sections={})


def test_drawing_takes_the_colours_of_the_page_and_identifiers_of_its_own():
    svg = (
        '<?xml version="1.0"?>\n<svg xmlns="http://a" width="9pt" height="9pt" viewBox="0 0 9 9">'
        '<defs><path id="m"/></defs><use xlink:href="#m" clip-path="url(#m)" '
        'style="stroke: #1f2933"/></svg>'
    )
    assert inline_svg(svg, "f") == (
        '<svg role="img" aria-hidden="true" viewBox="0 0 9 9"><defs><path id="f-m"/></defs>'
        '<use href="#f-m" clip-path="url(#f-m)" style="stroke: currentColor"/></svg>'
    )
