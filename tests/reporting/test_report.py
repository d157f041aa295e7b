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
from rankpursuit.experiments.config import load_experiment
from rankpursuit.reporting import report as module
from rankpursuit.reporting.claims import MARKS, Outcome, published_tables
from rankpursuit.reporting.figures import GRID, INK
from rankpursuit.reporting.notes import size_note
from rankpursuit.reporting.report import finding, inline_svg, summarise, write_report
from rankpursuit.reporting.results import load_results

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


def test_summary_comes_first_then_errors_claims_and_runs_in_the_order_of_the_tables(text):
    places = [
        text.index(f'<section id="{name}"')
        for name in ("summary", "matrix", "claims", "run-1-two", "run-2-one")
    ]
    assert places == sorted(places)


def test_verdicts_tables_tests_figures_and_provenance_are_there(text):
    assert Page(text).tags.count("svg") == 3 * 4  # of three metrics of runs
    for title in (
        *("Claims of the paper", "Measured and published errors", "Sparsity", "Chosen parameters"),
        *("Significance tests", "Provenance", "<dt>packages</dt><dd>numpy 2.0</dd>"),
    ):
        assert title in text


def test_claims_are_sentences_with_a_mark_and_the_numbers_behind_them(tmp_path):
    folder = write_results(tmp_path / "jester", table=1, errors={"ranking_pursuit": 0.45})
    text = report(tmp_path, folder)
    claim = text[text.index('<li id="claim-jester-pursuit-beats-regression">') :]
    claim = claim[: claim.index("</details>")]
    assert "ranking pursuit does better than matching pursuit and RLS." in claim
    assert "0 of 6 comparisons agree; mean difference +0.0412 (" in claim
    assert "<li><b>against:</b> 20-40: Ranking Pursuit minus RLS +0.0250" in claim
    assert "The error of ranking pursuit is significantly higher than that of" in claim
    before = text[: text.index(claim)]
    assert before.rindex('aria-label="does not hold">✗') > before.rindex('aria-label="partly">≈')
    assert text.count("jester-pursuit-beats-regression") == 1  # in a link or a target only
    counts = text[: text.index("</tbody>")]
    outcomes = re.findall(r'class="mark [^"]*" role="img" aria-label="([^"]*)"', counts)
    found = dict(zip(outcomes, re.findall(r"<td>(\d+)</td>", counts), strict=True))
    assert found["undecided"] == "1"
    assert sum(map(int, found.values())) == 7


def test_headings_stand_once(text):
    headings = re.findall(r"<h[1-4]>(.*?)</h[1-4]>", text)
    section = text[text.index('<section id="run-2-one"') :]
    inside = re.findall(r"<(?:h[2-4]|summary)>(.*?)</(?:h[2-4]|summary)>", section)
    assert headings
    assert len(set(inside)) == len(inside)
    assert sum("Table 2 of the paper" in heading for heading in headings) == 1


def test_mark_and_words_are_there_for_every_outcome():
    for outcome in get_args(Outcome):
        assert MARKS[outcome]
        assert f".mark.{outcome.replace(' ', '-')} {{" in (TEMPLATES / "page.css").read_text()


def test_small_run_is_marked_at_the_top_and_in_its_section(text):
    said = "NOT the paper's size: 4 users"
    assert unescape(text).count(said) == 4  # summary and section of two runs, not under every table


def test_own_ratings_are_the_subject_of_their_page(tmp_path):
    text = unescape(report(tmp_path, write_run(tmp_path, name="books", data="ratings", repeats=1)))
    assert "<title>books: results</title>" in text
    assert "paper" not in re.sub(r"<(style|script).*?</\1>", "", text, flags=re.DOTALL)
    assert 'class="warning"' in text  # the repeats that are missing


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
    title = "results, with SYNTHETIC ratings"
    assert f"{title}</title>" in text
    assert f"{title}</h1>" in text
    assert re.search(r"<h2>drawn, SYNTHETIC ratings", text)
    figures = re.findall(r"<figure.*?</figure>", text, flags=re.DOTALL)
    assert len(figures) == 4
    assert all("SYNTHETIC ratings, drawn from a model" in figure for figure in figures)


def test_partial_run_says_what_is_missing(tmp_path):
    leave_out = (("rls", "20-40"), ("rls", "60-80"), ("rank_rls", "60-80"))
    folder = write_run(tmp_path, repeats=2, declared_repeats=3, leave_out=leave_out)
    text = report(tmp_path, folder)
    assert "Not run: RLS." in text
    assert "of 6 cells (group and repeat), RankRLS lacks 4, Ranking Pursuit lacks 2" in text
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


def test_cells_are_sorted_by_their_number_and_the_best_is_bold(tmp_path):
    text = report(tmp_path, write_results(tmp_path / "jester", noise=0))
    section = text[text.index('<section id="run-1') :]
    row = section[section.index('<th scope="row">RankSVM</th>') :]
    cells = re.findall(r"<td.*?</td>", row)
    assert cells[3] == '<td data-sort="0.404"><b>0.404</b><span> ± 0.002</span></td>'
    assert cells[4] == '<td data-sort="0.404">0.404</td>'
    assert cells[5].endswith(">0.000</td>")


def test_notes_on_a_run_stand_in_its_section_and_not_under_each_of_its_tables(tmp_path):
    text = report(tmp_path, write_results(tmp_path / "jester", config=shipped()))
    assert text.count("Config: jester_supervised, as shipped") == 1
    assert text.count("the best method is marked") == 1


def test_drawing_takes_the_colours_of_the_page_and_identifiers_of_its_own():
    figure = Figure(figsize=(1, 2))
    axis = figure.subplots()
    axis.plot([1, 2], color=GRID)
    axis.set_title("<b>", color=INK)
    svg = inline_svg(figure, "f")
    assert svg.startswith('<svg role="img" aria-hidden="true" style="--natural: 72pt"')
    assert not re.search(r"xmlns|xlink|<style|<metadata|height=\"144pt|<b>", svg)
    assert INK not in svg
    assert GRID not in svg
    assert "currentColor" in svg
    assert "var(--line)" in svg
    ids = re.findall(r'\bid="([^"]*)"', svg)
    used = re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)', svg)
    assert all(name.startswith("f-") for name in ids)
    assert {one or two for one, two in used} <= set(ids)


CELLS = published_tables()[1].cells["disagreement"]


def with_errors(results, error):
    """Return results in which each cell has the error that a function of label and group gives."""
    rows = results.repeats
    errors = [error(*key) for key in zip(rows["algorithm"], rows["group"], strict=True)]
    return replace(results, repeats=rows.assign(test_error=errors))


@pytest.fixture
def jester(tmp_path):
    return load_results(write_results(tmp_path / "jester", table=1))


def shipped(*overrides):
    """Return the config of Table 1 as shipped, with overrides, as plain values."""
    return load_experiment("jester_supervised", overrides).resolved()


def test_errors_as_published_are_counted(jester):
    same = with_errors(jester, lambda label, group: CELLS[label][group])
    assert finding(same)[0].startswith("18 of 18 published errors are reproduced, within 0.006 (")
    rls_off = with_errors(
        jester, lambda label, group: CELLS[label][group] - 0.018 * (label == "rls")
    )
    assert finding(rls_off) == [
        "15 of 18 published errors are reproduced, within 0.006 (normalised disagreement error); "
        "measured errors are on average 0.003 lower than published.",
    ]
    (setup,) = summarise([rls_off]).setups
    assert (setup.cells["within"].sum(), len(setup.cells)) == (15, 18)


def test_errors_that_an_earlier_table_has_are_counted_once(tmp_path):
    runs = [load_results(write_results(tmp_path / str(n), table=n, noise=0)) for n in (1, 5)]
    (setup,) = summarise(runs).setups
    assert (setup.cells["within"].sum(), len(setup.cells)) == (42, 42)
    assert finding(runs[1])[0].startswith("Ranking task: 3 of 3 published errors")


def test_both_set_ups_are_counted_and_what_the_inferred_one_changes_is_said(tmp_path):
    own = load_results(write_results(tmp_path / "own", config=shipped()))
    changes = ("protocol.fill_over=set", "algorithms.rls.lambda=[1]")
    inferred = load_results(write_results(tmp_path / "inferred", config=shipped(*changes)))
    inferred = with_errors(inferred, lambda *_: 0.9)
    summary = summarise([own], [inferred])
    assert [setup.title for setup in summary.setups] == [
        *("The text's set-up", "The inferred set-up")
    ]
    assert [setup.cells["within"].sum() for setup in summary.setups] == [18, 0]
    assert summary.inferred_changes == ["fill_over", "lambda"]
    write_report([own], tmp_path / "report.html", inferred=[inferred])
    text = unescape((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "the text's except for <code>fill_over</code> and <code>lambda</code>." in text
    assert "The inferred set-up: <span" in text  # next to each claim, in words too
    assert all(one.sentence in text for setup in summary.setups for one in setup.verdicts)


def test_a_changed_run_is_not_called_the_text_s_set_up(jester):
    assert [setup.title for setup in summarise([jester]).setups] == ["These runs"]


def test_the_story_says_what_a_baseline_without_learning_gets(tmp_path):
    baselines = {"mean_rating": 0.39, "linear_rank_rls": 0.45}
    runs = [
        load_results(write_results(tmp_path / str(table), table=table, baselines=baselines))
        for table in (1, 3, 5)
    ]
    runs[1] = replace(runs[1], experiment=runs[1].experiment.model_copy(update=MOVIELENS))
    assert summarise(runs).highlights == [
        (
            "A baseline without learning,",
            "the mean rating of an item, has an error of 0.390 on Jester (best method: 0.396, "
            "Ranking Pursuit); 0.390 on MovieLens (best method: 0.468, Ranking Pursuit).",
        )
    ]


MOVIELENS = {"data": load_experiment("movielens_supervised").data}


def test_run_about_no_table_tells_its_best_method(tmp_path):
    summary = summarise([load_results(write_run(tmp_path, name="mine"))])
    assert summary.setups == []
    ((start, found),) = summary.highlights
    assert start == "Lowest error, mean over groups:"
    assert re.fullmatch(r"0\.\d{3} on mine \(RLS, normalised disagreement error\)\.", found)


def test_the_best_method_of_a_run_is_no_baseline(tmp_path):
    run = load_results(write_results(tmp_path / "own", table=None, baselines={"mean_rating": 0.1}))
    ((_, found),) = summarise([run]).highlights
    assert "0.100 on own (best method: 0.396, Ranking Pursuit)" in found


def test_second_run_of_a_table_is_told_by_itself(jester):
    summary = summarise([jester, replace(jester), replace(jester)])
    assert len(summary.setups) == 1
    assert summary.highlights[0][1].count("(Ranking Pursuit, ") == 3
