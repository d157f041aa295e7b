"""The report as text: self-contained, escaped, honest about what is missing."""

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import get_args

import pytest
from made_up import write_results
from made_up_runs import ALGORITHMS, write_run
from matplotlib.figure import Figure

from rankpursuit.errors import ResultsError
from rankpursuit.reporting import report as module
from rankpursuit.reporting.claims import Outcome
from rankpursuit.reporting.figures import CaptionedFigure, draw_figures
from rankpursuit.reporting.published import published_tables
from rankpursuit.reporting.render import EMPTY, Table, Value
from rankpursuit.reporting.report import (
    RunSection,
    Summary,
    Topic,
    finding,
    inline_svg,
    render_report,
    run_section,
    summarise,
    write_report,
)
from rankpursuit.reporting.results import load_results
from rankpursuit.reporting.tables import size_note

TEMPLATES = Path(module.__file__).parent / "templates"
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


def test_summary_comes_first_then_claims_then_runs_in_the_order_of_the_tables(text):
    places = [
        text.index(f'<section id="{name}"')
        for name in ("summary", "claims", "run-1-two", "run-2-one")
    ]
    assert places == sorted(places)


def test_verdicts_tables_tests_figures_and_provenance_are_there(text):
    assert "What the paper says, and whether it holds" in text
    n_figures = 3 * 3 + 1  # of three metrics of runs, and the overview
    assert Page(text).tags.count("svg") == n_figures
    for title in ("How sparse", "Chosen parameters", "Significance tests", "packages numpy"):
        assert title in text


def test_claims_are_sentences_with_a_mark_and_the_numbers_behind_them(tmp_path):
    folder = write_results(tmp_path / "jester", table=1, errors={"ranking_pursuit": 0.45})
    text = report(tmp_path, folder)
    claim = text[text.index('<li id="claim-jester-pursuit-beats-regression">') :]
    claim = claim[: claim.index("</details>")]
    assert "ranking pursuit does better than matching pursuit and RLS." in claim
    assert "0 of 6 comparisons agree; mean difference +0.0412 (" in claim
    assert "<li><b>against:</b> 20-40: Ranking Pursuit minus RLS +0.0250" in claim
    assert "The error of ranking pursuit is higher than that of" in claim
    before = text[: text.index(claim)]
    assert before.rindex('aria-label="does not hold">✗') > before.rindex('aria-label="partly">≈')
    assert text.count("jester-pursuit-beats-regression") == 1  # in a link or a target only
    assert re.search(r'aria-label="undecided">\?</span> <b>1</b> undecided', text)


def test_claims_of_the_abstract_stand_on_the_first_screen(tmp_path):
    text = report(tmp_path, write_results(tmp_path / "jester", table=1))
    summary = text[text.index('<section id="summary"') : text.index('<section id="claims"')]
    links = re.findall(r'href="#(claim-[^"]*)"', summary)
    assert links == ["claim-jester-pursuit-comparable", "claim-jester-pursuit-sparser"]
    assert re.search(
        r"Jester, supervised, changed: .* \(Table 1 of the paper\): 6 methods", summary
    )


def test_every_figure_of_a_run_has_its_place_in_the_report(tmp_path):
    results = load_results(write_run(tmp_path, table=1))
    shown = {drawn.name for topic in run_section(results).topics for drawn in topic.figures}
    assert shown == {drawn.name for drawn in draw_figures(results)}


def test_headings_stand_once(text):
    headings = re.findall(r"<h[1-4]>(.*?)</h[1-4]>", text)
    section = text[text.index('<section id="run-2-one"') :]
    inside = re.findall(r"<(?:h[2-4]|summary)>(.*?)</(?:h[2-4]|summary)>", section)
    assert headings
    assert len(set(inside)) == len(inside)
    assert sum("Table 2 of the paper" in heading for heading in headings) == 1


def test_mark_and_words_are_there_for_every_outcome():
    for outcome in get_args(Outcome):
        assert f'{outcome}": ' in (TEMPLATES / "parts.html").read_text(encoding="utf-8")
        assert f".{outcome.replace(' ', '-')} {{" in (TEMPLATES / "page.css").read_text()


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
    assert len(figures) == 3
    assert all("SYNTHETIC ratings: drawn from a model" in figure for figure in figures)


def test_partial_run_says_what_is_missing(tmp_path):
    leave_out = (("rls", "20-40"), ("rls", "60-80"), ("rank_rls", "60-80"))
    folder = write_run(tmp_path, repeats=2, declared_repeats=3, leave_out=leave_out)
    text = report(tmp_path, folder)
    assert "Not run: RLS." in text
    assert "of 6 groups and repeats, RankRLS lacks 4, Ranking Pursuit lacks 2" in text
    assert "<svg" in text


def test_everything_from_outside_is_escaped(tmp_path):
    results = load_results(write_run(tmp_path))
    names = {"name": 'a"&<script>alert(1)<'}
    names["algorithms"] = {"<i>evil</i>": results.experiment.algorithms["rls"]}
    rows = results.repeats.replace({"algorithm": {"rls": "<i>evil</i>"}})
    experiment = results.experiment.model_copy(update=names)
    evil = replace(results, experiment=experiment, repeats=rows)
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
    rows = {"A & B": (Value("0.4", " ± 0.1", True, {"mean": 0.4}), EMPTY)}
    table = Table("id", "T", ("x", "y"), {"method": rows}, ("said", "new"))
    found = render_report(
        [RunSection("a", "A", notes=("said",), topics=[Topic("Errors", [table])])], []
    )
    assert '<th scope="row">A &amp; B</th><td data-sort="0.4"><b>0.4</b> ± 0.1</td>' in found
    assert f"<td>{EMPTY.text}</td>" in found
    assert found.count('<p class="note">new</p>') == 1
    assert found.count('<p class="note">said</p>') == 1  # in the section, not under its table


def test_section_without_tables_and_figures_says_so():
    found = render_report([RunSection("a", "A")], [])
    assert "<p>Nothing to show yet.</p>" in found
    assert "Significance tests" not in found


def test_only_the_drawing_itself_is_not_escaped():
    figure = Figure()
    figure.text(0.5, 0.5, "<i>drawn</i>")
    drawn = CaptionedFigure('<i>"name', '<i>"caption', figure)
    hostile = "</style><i>'\"&"
    table = Table(hostile, hostile, (hostile,), {hostile: {hostile: (Value(hostile),)}})
    words = (hostile,)
    topics = [Topic(hostile, [table]), Topic(hostile, [table], [drawn])]
    section = RunSection(hostile, hostile, 1, words, words, words, topics, [(hostile, hostile)])
    page = Page(render_report([section], [], Summary(words, words)))
    assert page.tags.count("svg") == 1
    assert page.tags.count("style") == 1
    assert "i" not in page.tags


def test_drawing_takes_the_colours_of_the_page_and_identifiers_of_its_own():
    svg = (
        '<?xml version="1.0"?>\n<svg xmlns="http://a" width="9pt" height="9pt" viewBox="0 0 9 9">'
        '<defs><path id="m"/></defs><use xlink:href="#m" clip-path="url(#m)" '
        'style="stroke: #1f2933"/></svg>'
    )
    assert inline_svg(svg, "f") == (
        '<svg role="img" aria-hidden="true" style="--natural: 9pt" viewBox="0 0 9 9">'
        '<defs><path id="f-m"/></defs>'
        '<use href="#f-m" clip-path="url(#f-m)" style="stroke: currentColor"/></svg>'
    )


CELLS = published_tables()[1].cells["disagreement"]


def with_errors(results, error):
    """Return results in which each cell has the error that a function of label and group gives."""
    rows = results.repeats
    errors = [error(*key) for key in zip(rows["algorithm"], rows["group"], strict=True)]
    return replace(results, repeats=rows.assign(test_error=errors))


@pytest.fixture
def jester(tmp_path):
    return load_results(write_results(tmp_path / "jester", table=1))


def test_errors_as_published_are_counted(jester):
    same = with_errors(jester, lambda label, group: CELLS[label][group])
    assert finding(same)[0].startswith("18 of 18 published errors are reproduced (within 0.006 ")
    rls_off = with_errors(
        jester, lambda label, group: CELLS[label][group] - 0.018 * (label == "rls")
    )
    assert finding(rls_off) == [
        "15 of 18 published errors are reproduced (within 0.006 in normalised disagreement error). "
        "On average, the error is 0.003 lower than published.",
    ]
    assert summarise([rls_off]).found == [
        "15 of 18 published errors are reproduced (within 0.006 in normalised disagreement error). "
        "3 of the 18 are lower than published.",
    ]


def test_errors_that_an_earlier_table_has_are_counted_once(tmp_path):
    runs = [load_results(write_results(tmp_path / str(n), table=n, noise=0)) for n in (1, 5)]
    found = summarise(runs).found
    assert found[0].startswith(
        "42 of 42 published errors are reproduced (within 0.006 in normalised "
        "disagreement error, 1.4 in mean squared error)."
    )
    assert finding(runs[1])[0].startswith("Ranking task: 3 of 3 published errors")


def test_every_run_is_named_with_its_methods_and_its_size(tmp_path):
    folders = [write_run(tmp_path, name=f"run_{n}", table=n) for n in (1, None)]
    of_table, own = summarise([load_results(folder) for folder in folders]).tried
    assert own == (
        "Jester, experiment run_None, only 4 users, 3 repeats: 4 methods, 4 users, 3 repeats in "
        "each group of users."
    )
    assert of_table.startswith("Jester, supervised, only 4 users, 3 repeats, changed: protocol.")
    assert "(Table 1 of the paper): 4 methods, 4 users" in of_table


def test_the_summary_says_in_one_sentence_what_baselines_get(tmp_path):
    baselines = {"mean_rating": 0.39, "linear_rank_rls": 0.45}  # of 0.409, 0.404 and 0.372
    runs = [
        load_results(write_results(tmp_path / str(table), table=table, baselines=baselines))
        for table in (1, 3, 5)  # the ranking errors of Table 5 are those of Table 1
    ]
    summary = summarise(runs)
    assert summary.found[-1] == (
        "Baselines that are not in the paper have a lower error than its best method as follows: "
        "Mean rating in 5 of 6 groups of users (significantly in 5), Linear RankRLS in 3 of 6 "
        "groups of users (significantly in 3); Wilcoxon's test over repeats."
    )
    assert "6 methods, 2 baselines, 300 users" in summary.tried[0]
    assert "aseline" not in " ".join(summarise([jester_run(tmp_path)]).found)


def jester_run(folder):
    return load_results(write_results(folder / "plain", table=1))


def test_run_about_no_table_tells_its_best_method(tmp_path):
    summary = summarise([load_results(write_run(tmp_path, name="mine"))])
    (found,) = summary.found
    assert found.startswith("mine: the lowest normalised disagreement error, mean over groups, is")
    assert found.endswith("(RLS).")
    assert summary.figure is None


def test_the_best_method_of_a_run_is_no_baseline(tmp_path):
    run = load_results(write_results(tmp_path / "own", table=None, baselines={"mean_rating": 0.1}))
    assert "(Ranking Pursuit)" in summarise([run]).found[0]


def test_second_run_of_a_table_is_told_by_itself(jester):
    summary = summarise([jester, replace(jester)])
    assert len(summary.found) == 2
    assert summary.figure is not None
