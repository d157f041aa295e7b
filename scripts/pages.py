"""Write the generated parts of the pages in `PAGES`: ``python scripts/pages.py``.

A part stands between ``<!-- NAME -->`` and ``<!-- end -->``, in the guide between ``.. NAME`` and
``.. end``. Its numbers come from committed files under ``results/``, so that nothing is run; a test
fails if a page is out of date. Studies write CSV files and figures with the functions at the end,
and then the pages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from statistics import mean
from typing import get_args

import pandas as pd
import yaml
from matplotlib.figure import Figure
from tabulate import tabulate

from rankpursuit.experiments.registry import METHODS
from rankpursuit.reporting.claims import (
    Outcome,
    Verdict,
    is_within,
    judge_claims,
    published_tables,
    published_tolerance,
)
from rankpursuit.reporting.figures import INK, figure_style
from rankpursuit.reporting.render import markdown_columns, signed, to_markdown
from rankpursuit.reporting.results import Results, load_results
from rankpursuit.reporting.tables import all_tables, published_cells
from rankpursuit.text import duration
from rankpursuit.writing import replacing, write_atomically

ROOT = Path(__file__).parents[1]
EXPERIMENTS = {
    1: "jester_supervised",
    2: "jester_semi_supervised",
    3: "movielens_supervised",
    4: "movielens_semi_supervised",
    5: "jester_crrp",
}
DATA_TITLES = {"jester": "Jester", "movielens": "MovieLens"}
RESULTS, CONFIGS = ROOT / "results", ROOT / "configs"
REFERENCE = RESULTS / "reference"
INFERRED = REFERENCE / "inferred"
LOG = REFERENCE / "log.yaml"
FILLS = {"user": "all ratings", "items": "items at hand", "set": "items at hand, apart"}
BOOSTING = "LightGBM"  # what the rankers are compared with
NAMES = ("README.md", "results/README.md", "results/reproduction.md", "results/reference/README.md")
PAGES = tuple(ROOT / name for name in (*NAMES, "docs/guide/comparison.rst"))


@cache
def runs(folder: Path = REFERENCE) -> dict[int, Results]:
    """Return the committed runs in a folder by the number of their table."""
    folders = {number: folder / name for number, name in EXPERIMENTS.items()}
    return {number: load_results(path) for number, path in folders.items() if path.is_dir()}


def matrix() -> str:
    """Return a row for each table of the reference: command, agreement, verdicts, provenance."""
    rows = []
    for folder, place in ((REFERENCE, ""), (INFERRED, "inferred/")):
        verdicts = [one for one in judge_claims(list(runs(folder).values())) if not one.absent]
        for number, run in runs(folder).items():
            outcomes = Counter(one.outcome for one in verdicts if one.claim.tables[-1] == number)
            versions = run.provenance["packages"]
            row = [
                f"[{number}]({place}{run.name}/tables.md)" + ", inferred" * bool(place),
                f"`rp-run configs/{place}{run.name}.yaml`",
                _count_within(published_cells(run)),
                ", ".join(f"{x}: {outcomes[x]}" for x in get_args(Outcome) if x in outcomes),
                duration(run.provenance["seconds"]),
                run.provenance["commit"],
                ", ".join(f"{name} {versions[name]}" for name in ("numpy", "scipy")),
            ]
            rows.append(row)
    headers = ["table", "command", "cells within tolerance", "claims of the paper"]
    return markdown_columns([*headers, "time", "commit", "versions"], rows, "llrlrll")


def _count_within(cells: pd.DataFrame) -> str:
    return f"{cells['within'].sum()} of {len(cells)}"


def _cells(found: Iterable[Results]) -> pd.DataFrame:
    """Return the published cells of several runs next to the measured ones."""
    return pd.concat([published_cells(run) for run in found])


def log() -> str:
    """Return when and why numbers of the reference moved."""
    entries = yaml.safe_load(LOG.read_text(encoding="utf-8"))
    rows = [[one["date"], one["commit"], " ".join(one["why"].split())] for one in entries]
    return markdown_columns(["date", "commit", "what moved and why"], rows, "lll")


def claims() -> str:
    """Return the verdict on each claim in words, with the text's set-up and the inferred one."""
    inferred = runs(INFERRED)
    judged = [judge_claims(list(of.values())) for of in (runs(), runs() | inferred)]
    rows = []
    for of_text, of_inferred in zip(*judged, strict=True):
        concerned = inferred.keys() & set(of_text.claim.tables)
        rows.append([of_text.claim, _verdict(of_text), _verdict(of_inferred) if concerned else ""])
    return markdown_columns(["the paper says", "as the text has it", "as inferred"], rows, "lll")


def _verdict(judged: Verdict) -> str:
    share = judged.reason.removesuffix(" comparisons agree").replace(" of ", "/")
    return f"{judged.outcome}, {share}"


def _setups() -> dict[str, dict[int, Results]]:
    """Return the runs of each set-up; the text's fill in for tables without an inferred run."""
    return {"the text's set-up": runs(), "the inferred set-up": runs() | runs(INFERRED)}


def story() -> str:
    """Return how much reproduces in each set-up, and how good the mean rating is."""
    lines = []
    for setup, found in _setups().items():
        outcomes = Counter(one.outcome for one in judge_claims(list(found.values())))
        lines.append(
            f"- **With {setup}** {_count_within(_cells(found.values()))} published figures are "
            f"within tolerance, and {outcomes['holds']} of {outcomes.total()} claims hold "
            f"({outcomes['partly']} partly)."
        )
    parts = []
    for data, run in (("MovieLens", runs()[3]), ("Jester", runs()[1])):
        errors = _mean_errors(run)
        best = errors.drop(list(run.baselines)).min()
        parts.append(f"{errors['mean_rating']:.3f} on {data} (best method: {best:.3f})")
    lines.append(
        "- **A baseline without learning**, the mean rating of an item over the reference users "
        f"who rated it, has an error of {' and '.join(parts)}. It never sees the user's scores."
    )
    return "\n".join(lines)


def central_claim() -> str:
    """Return against whom semi-supervised ranking pursuit is better and worse in each set-up."""
    lines = [
        "The central claim is that semi-supervised (SS) ranking pursuit beats all methods of its "
        "table. In brackets: groups of users.",
        "",
    ]
    for setup, found in _setups().items():
        lines += [
            f"- *Table {judged.claim.tables[0]}, {setup} ({judged.outcome}):* {judged.sentence}"
            for judged in judge_claims(list(found.values()))
            if judged.claim.id.endswith("-semi-supervised-best")
        ]
    return "\n".join(lines)


def _mean_errors(run: Results) -> pd.Series:
    """Return the mean disagreement error of each algorithm over the groups."""
    rows = run.repeats[run.repeats["metric"] == "disagreement"]
    return rows.groupby("algorithm")["test_error"].mean()


def draw_published(path: Path) -> None:
    """Draw every measured disagreement error against the published one, in both set-ups."""
    styles = [{"fc": "none", "ec": "#6f7782"}, {"fc": "#d1500a", "ec": "#d1500a", "alpha": 0.75}]
    with figure_style():
        figure = Figure(figsize=(9.3, 4.2))
        panels = {"Jester": (1, 2, 5), "MovieLens": (3, 4)}
        for axes, (title, numbers) in zip(figure.subplots(1, 2), panels.items(), strict=True):
            for (setup, found), style in zip(_setups().items(), styles, strict=True):
                cells = _cells(found[number] for number in numbers)
                cells = cells[cells["metric"] == "disagreement"]
                points = cells["published"], cells["measured"]
                axes.scatter(*points, s=28, label=setup, lw=1.1, **style)
            baseline = _mean_errors(runs()[numbers[0]])["mean_rating"]
            line = {"color": "#00906a", "ls": "--", "lw": 1.2}
            axes.axhline(baseline, label="mean rating, no learning", **line)
            low, high = axes.get_xlim()
            axes.axline((low, low), slope=1, color=INK, lw=0.8, label="as published")
            axes.set(title=title, xlabel="published error", xlim=(low, high))
        figure.axes[0].set_ylabel("measured error")
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
        save_figure(figure, path)


def cells() -> str:
    """Return how many distinct cells are within tolerance, and the mean deviation of all."""
    setups = [_cells(runs(folder).values()) for folder in (REFERENCE, INFERRED)]
    rows = []
    for number, metric in dict.fromkeys(zip(setups[0]["table"], setups[0]["metric"], strict=True)):
        row = [number, metric.replace("_", " "), f"± {published_tolerance(metric):g}"]
        for setup in setups:
            cells = setup[(setup["table"] == number) & (setup["metric"] == metric)]
            row += [_count_within(cells), f"{cells['difference'].mean():+.3f}"]
        rows.append(row)
    counts = [word for setup in setups for word in (_count_within(setup), "")]
    headers = ["table", "error", "tolerance", "the text's", "deviation", "inferred", "deviation"]
    return markdown_columns(headers, [*rows, ["all", "", "", *counts]], "rlrrrrr")


def headline() -> str:
    """Return the mean error over the three groups of each method and experiment."""
    columns = {number: _mean_errors(run) for number, run in runs().items() if number != 5}
    rows = []
    for label, method in METHODS.items():
        row = [method.title + ", baseline, not in the paper" * method.baseline]
        for number, errors in columns.items():
            published = published_tables()[number].cells["disagreement"].get(label)
            known = f" ({mean(published.values()):.3f})" if published else ""
            row.append(f"{errors[label]:.3f}{known}" if label in errors else "")
        if any(row[1:]):
            rows.append(row)
    headers = ["", *(published_tables()[number].title for number in columns)]
    return markdown_columns(headers, rows, "l" + "r" * len(columns))


def stopping() -> str:
    """Return the sparsity and error of ranking pursuit if it stops early."""
    rows = []
    for slack in (0.0, 0.001, 0.0025, 0.005, 0.01):
        row = [f"within {slack:.2%} of the lowest" if slack else "the lowest hold-out error"]
        for number in (1, 3):
            curves = runs()[number].curves
            curves = curves.query("algorithm == 'ranking_pursuit' and axis == 'n_basis'")
            lowest = curves.groupby(["group", "repeat"])["holdout_error"].transform("min")
            enough = curves[curves["holdout_error"] <= (1 + slack) * lowest]
            first = enough.groupby(["group", "repeat"])[["value", "test_error"]].first()
            share, error = first.mean()
            row += [f"{share - 1:+.0%}", f"{error:.4f}"]
        rows.append(row)
    headers = ["stop at the first P with", "Jester", "error", "MovieLens", "error"]
    return markdown_columns(headers, rows, "lrrrr")


# Studies, from the CSV files that they wrote


def _csv(name: str) -> pd.DataFrame:
    return pd.read_csv(RESULTS / f"{name}.csv")


def inference() -> str:
    """Return how well each kind of features fits the published tables.

    The rule of the configs tunes lambda on all hold-out users, with a width for each method.
    """
    setups = _csv("inference")
    setups["power"] = setups["power"].astype(object).fillna("tuned")
    features, rule = ["fill_over", "reference_users"], ["holdout", "power", "shared", "size"]
    tables = setups.pivot(index=[*features, *rule], columns="table").drop(columns=["data"])
    configs = (0, "tuned", "none", "holdout")
    within = tables["within_tolerance"].xs(configs, level=rule).sum(axis=1)
    chi = tables["chi_square"].assign(both=lambda chi: chi[1] + chi[3])
    of_configs = chi.xs(configs, level=rule)
    best, fitted = chi.groupby(features).min(), chi.groupby(features)[3].idxmin()
    samples = setups.dropna().groupby([*features, "table"])["best_in_samples"].first()
    rows = []
    for fill, number in of_configs.index:
        at, row = (fill, number), [number, FILLS[fill]]
        for table in (1, 3):
            chi_squares = (of_configs.loc[at, table], best.loc[at, table])
            row += [*(f"{x:.0f}" for x in chi_squares), f"{samples[*at, table]:.0%}"]
        chi_squares = of_configs.loc[at, 4], chi.loc[fitted[at], 4], best.loc[at, "both"]
        rows.append([*row, *(f"{x:.0f}" for x in chi_squares), within[at]])
    headers = ["reference users", "median over", "Table 1", "best", "in samples"]
    headers += ["Table 3", "best", "in samples", "Table 4", "by best of 3"]
    headers += ["Tables 1 and 3, best", "cells, of 102"]
    return markdown_columns(headers, rows, "rl" + "r" * 10)


def interpretations() -> str:
    """Return what each interpretation of the paper changes."""
    every = _csv("interpretations")
    off = every["measured"] - every["published"]
    every = every.assign(off=off, within=is_within(off, every["tolerance"]))
    ranking, jester = every["metric"] == "disagreement", every["table"].isin([1, 2, 5])
    kinds = ((ranking & jester, 3), (ranking & ~jester, 3), (~ranking, 1))
    rows = []
    for row in _csv("interpretations_claims").fillna("").itertuples():
        at = every["interpretation"] == row.interpretation
        counts = [every["within"][at].sum(), row.claims_that_hold, row.comparisons_that_agree]
        means = [f"{x:+.{n}f}" if abs(x := off[at & of].mean()) < 1e3 else "" for of, n in kinds]
        tables = "all" if row.tables == "1 2 3 4 5" else row.tables
        rows.append([row.interpretation, tables, *counts, *means])
    headers = ["interpretation", "tables", "cells, of 102", "claims, of 19", "comparisons"]
    headers += ["Jester", "MovieLens", "squared error"]
    return markdown_columns(headers, rows, "llrrrrrr")


def identity() -> str:
    """Return the variances of the scores that two cells of a method imply."""
    frame = _csv("identity").query("what != 'again'")
    frame["text"] = frame["implied"].map("{:.2f}".format)
    frame["text"] += (
        " (" + frame[["low", "high"]].map("{:.2f}".format).agg(" to ".join, axis=1) + ")"
    )
    cells = frame.pivot(index=["what", "group"], columns="method", values="text")
    methods = {
        "rls": "RLS",
        "kernel_matching_pursuit": "matching pursuit",
        "difference": "difference",
    }
    rows = cells[list(methods)].reset_index().to_numpy().tolist()
    return markdown_columns(["cells", "group", *methods.values()], rows, "llrrr")


def level() -> str:
    """Return what the identity relates for RLS, and the published errors of a method that ranks."""
    columns = {
        "variance": "variance of the scores",
        "implied": "implied by RLS",
        "disagreement": "disagreement of RLS",
        "by_user": "arccos(r) / π",
        "zero": "squared error of zero",
    }
    again, rows = _csv("identity").query("what == 'again'"), []
    ranking = published_tables()[5].cells["squared_error"]["rank_rls"]
    for row in again.to_dict("records"):
        texts = [f"{row[name]:.{3 if row[name] < 1 else 2}f}" for name in columns]
        rows.append([row["group"], *texts, f"{ranking[row['group']]:.1f}"])
    return markdown_columns(["group", *columns.values(), "RankRLS, published"], rows, "lrrrrrr")


def by_user() -> str:
    """Return how SS ranking pursuit compares if parameters are chosen for each user."""
    comparisons = _csv("by_user").set_index(["compared_with", "table"])
    rows = []
    for label in comparisons.index.unique("compared_with"):
        rows.append([METHODS[label].title])
        for table in (4, 2):
            row = comparisons.loc[label, table]
            mean, low, high = (signed(row[name], 4) for name in ("difference", "low", "high"))
            counts = f"{row['groups_ahead']:.0f}, {row['significantly']:.0f}"
            rows[-1] += [f"{mean} ({low} to {high})", counts]
    headers = ["SS ranking pursuit minus", "Table 4", "ahead", "Table 2", "ahead"]
    return markdown_columns(headers, rows, "lrrrr")


def ablations() -> str:
    """Return a table of differences for each section, in bold if the interval excludes zero.

    Questions that differ in what comes before ": " or ", minus " share a row.
    """
    answers = _csv("ablations")
    significant = (answers["low"] > 0) | (answers["high"] < 0)
    text = answers["difference"].map(partial(signed, decimals=4))
    answers["text"] = text.where(~significant, "**" + text + "**")
    tables = []
    for section, rows in answers.groupby("section", sort=False):
        split = rows["question"].str.extract(r"^(?:(\d+%): |([\w-]+), minus )?(.*)$")
        rows = rows.assign(case=split[0].fillna(split[1]).fillna(""), asked=split[2])
        columns = list(dict.fromkeys(zip(rows["data"], rows["case"], strict=True)))
        columns.sort(key=lambda column: column[0])
        cells = rows.pivot(index="asked", columns=["data", "case"], values="text").fillna("")
        table = cells.loc[rows["asked"].unique(), columns].reset_index().to_numpy()
        headers = [" ".join([DATA_TITLES[data], case]).strip() for data, case in columns]
        header = "minus" if split[1].notna().any() else "error of"
        shown = markdown_columns([header, *headers], table, "l" + "r" * len(headers))
        tables.append(f"**{section}**\n\n{shown}")
    return "\n\n".join(tables)


def _rst(headers: Sequence[str], rows: Iterable[Sequence[str]], sides: str) -> str:
    """Return a table in reStructuredText."""
    align = ["left" if side == "l" else "right" for side in sides]
    return tabulate(rows, headers, "rst", colalign=align, disable_numparse=True)


def _boosting() -> tuple[pd.DataFrame, str]:
    """Return the rankers next to boosting, defeats first, and the name of ours, nothing set."""
    fits = _csv("boosting")
    ours = fits["method"].iloc[0]
    order = fits[fits["method"] == ours].sort_values("difference")["data"]
    return fits.set_index(["data", "method"]).loc[list(order)], ours


def boosting_verdict() -> str:
    """Return the data sets on which boosting is ahead, behind and level."""
    fits, ours = _boosting()
    fits = fits.xs(ours, level="method")
    texts = fits.index + fits["difference"].map(" ({:+.3f})".format)
    ahead, behind = fits["high"] < 0, fits["low"] > 0
    names = [texts[ahead], texts[behind], fits.index[~ahead & ~behind]]
    ahead_on, behind_on, level_on = ("; ".join(each) or "none" for each in names)
    return (
        f"**{BOOSTING} is ahead** of ``{ours}`` on: {ahead_on}. **It is behind** on: {behind_on}. "
        f"**Level**, by the intervals: {level_on}."
    )


def boosting_differences() -> str:
    """Return the differences in NDCG@10 from boosting, and the dictionaries that were chosen."""
    fits, ours = _boosting()
    texts = fits[["difference", "low", "high"]].map("{:+.3f}".format)
    fits["text"] = texts["difference"] + " (" + texts["low"] + " to " + texts["high"] + ")"
    fits["text"] = fits["text"].str.replace(r" ?\(?\+nan.*", "", regex=True)
    others, rows = fits.index.unique("method").drop(BOOSTING), []
    for data, methods in fits.groupby(level="data", sort=False):
        methods = methods.droplevel("data")
        row = [data, f"{methods['queries'].iloc[0]:.0f}", f"{methods.loc[BOOSTING, 'ndcg']:.3f}"]
        rows.append(
            [*row, *methods["text"].reindex(others, fill_value=""), methods["chosen"][ours]]
        )
    return _rst(
        ["data", "queries", BOOSTING, *others, "chosen in the folds"],
        rows,
        "lrr" + "r" * len(others) + "l",
    )


def boosting_costs() -> str:
    """Return times and sizes of each method on some of the data sets."""
    costs = _boosting()[0].dropna(subset="fit_seconds").loc[:, "fit_seconds":"features"]
    headers = ["fit, s", "predict, ms", "memory, MB", "model, kB", "functions or trees", "features"]
    rows = [[*names, *map("{:.4g}".format, row)] for names, *row in costs.itertuples()]
    return _rst(["data", "method", *headers], rows, "ll" + "r" * len(headers))


def defaults(name: str) -> str:
    """Return one of the tables behind the defaults: errors."""
    errors = _csv("defaults").query("table == @name")
    cells = errors.pivot(index="row", columns="column", values="error")
    cells = cells.loc[errors["row"].unique(), errors["column"].unique()]
    rows = cells.map("{:.3f}".format).replace("nan", "").reset_index().to_numpy()
    return _rst(["with", *cells.columns], rows, "l" + "r" * len(cells.columns))


MAKERS = (matrix, log, claims, story, central_claim, cells, headline, stopping)
MAKERS += (inference, interpretations, identity, level, by_user, ablations)
MAKERS += (boosting_verdict, boosting_differences, boosting_costs)
PARTS: dict[str, Callable[[], str]] = {make.__name__.replace("_", "-"): make for make in MAKERS}
PARTS |= {name: partial(defaults, name) for name in _csv("defaults")["table"].unique()}


# Writing


def with_part(text: str, name: str, content: str) -> str:
    """Return a page with one of its generated parts replaced."""
    for begin, end in ((f"<!-- {name} -->\n", "\n<!-- end -->"), (f".. {name}\n\n", "\n\n.. end")):
        before, marker, rest = text.partition(begin)
        if marker:
            text = f"{before}{begin}{content}{end}{rest.partition(end.strip())[2]}"
    return text


def write_part(page: Path, name: str, content: str) -> None:
    """Replace a generated part of a page, whose numbers come from measurements."""
    text = page.read_text(encoding="utf-8")
    write_atomically(page, with_part(text, name, content).encode())
    print(f"wrote {page}")


def write_csv(path: Path, frame: pd.DataFrame) -> None:
    """Write a data frame with six significant digits."""
    write_atomically(path, frame.to_csv(index=False, float_format="%.6g").encode())


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure; the same bytes for the same figure."""
    options = {"facecolor": "white", "bbox_inches": "tight", "metadata": {"Date": None}}
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix[1:], **options)


def filled(text: str) -> str:
    """Regenerate the parts of a page that come from committed results."""
    lines = text.splitlines()
    for name, make in PARTS.items():
        if f"<!-- {name} -->" in lines or f".. {name}" in lines:
            text = with_part(text, name, make())
    return text


def looked_at(run: Results, others: Iterable[Results]) -> str:
    """Return the tables of a run that are kept as Markdown; its CSV files have the others."""
    tables = all_tables([run], others=list(others), compare=True)
    kept = ("-errors", "-sparsity", "-claims")
    return to_markdown([table for table in tables if table.id.endswith(kept)])


def write_pages() -> None:
    """Write the generated parts of all pages."""
    for page in PAGES:
        write_atomically(page, filled(page.read_text(encoding="utf-8")).encode())
        print(f"wrote {page.relative_to(ROOT)}")


def main() -> None:
    """Write the pages, and the tables and the figure of the reference."""
    write_pages()
    for folder in (REFERENCE, INFERRED):
        for run in runs(folder).values():
            page = run.folder / "tables.md"
            write_atomically(page, looked_at(run, runs(folder).values()).encode())
            print(f"wrote {page.relative_to(ROOT)}")
    draw_published(RESULTS / "published.svg")


if __name__ == "__main__":
    main()
