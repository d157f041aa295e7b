"""Pieces of a web page: everything that comes from outside is escaped here, once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from rankpursuit.reporting.figures.style import GRID, INK


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes
    ----------
    text : str
    sort : float, optional
        What the column is sorted by; the text if None.
    best : bool
        Whether it stands out.
    """

    text: str
    sort: float | None = None
    best: bool = False


@dataclass(frozen=True)
class HtmlTable:
    """A table to show; a row's first cell is its header, and plain strings are cells too."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]
    notes: Sequence[str] = ()


def slug(text: str) -> str:
    """Return a text as an identifier.

    Examples
    --------
    >>> slug("Jester, 20-40")
    'jester-20-40'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def table_html(table: HtmlTable) -> str:
    """Return a table in a box of its own, with a button in each header that sorts by it."""
    head = "".join(
        f'<th scope="col" aria-sort="none"><button type="button">{escape(name)}</button></th>'
        for name in table.header
    )
    body = "\n".join(f"<tr>{_row(row)}</tr>" for row in table.rows)
    notes = paragraphs(table.notes, "note")
    title = escape(table.title)
    return (
        f'<h3>{title}</h3>\n<div class="box" role="region" tabindex="0" aria-label="{title}">'
        f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>{notes}"
    )


def _row(row: Sequence[Cell | str]) -> str:
    cells = [cell if isinstance(cell, Cell) else Cell(cell) for cell in row]
    first = f'<th scope="row">{escape(cells[0].text)}</th>' if cells else ""
    return first + "".join(_cell(cell) for cell in cells[1:])


def _cell(cell: Cell) -> str:
    sort = "" if cell.sort is None else f' data-sort="{cell.sort:.12g}"'
    text = escape(cell.text)
    return f"<td{sort}>{f'<b>{text}</b>' if cell.best else text}</td>"


def paragraphs(texts: Sequence[str], kind: str) -> str:
    """Return texts as paragraphs of a class."""
    return "".join(f'\n<p class="{kind}">{escape(text)}</p>' for text in texts)


def figure_html(name: str, caption: str, svg: str) -> str:
    """Return a figure with its caption; `name` keeps its identifiers apart from other figures'."""
    return (
        f'<figure id="{escape(name)}"><div class="box" role="region" tabindex="0" '
        f'aria-label="{escape(caption)}">{inline_svg(svg, name)}</div>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def inline_svg(svg: str, name: str) -> str:
    """Return a drawing to put inside a page, in the colours of the page's text.

    What only a file of its own needs is left out (declarations, metadata, the fixed size), and
    identifiers get a prefix, since those of a page must differ.
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' xmlns(:xlink)?="[^"]*"', "", svg)
    svg = re.sub(r"(<svg[^>]*?) width=\"[^\"]*\"", r"\1", svg, count=1)
    svg = re.sub(r"(<svg[^>]*?) height=\"[^\"]*\"", r"\1", svg, count=1)
    svg = svg.replace("<svg", '<svg role="img" aria-hidden="true"', 1)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = svg.replace('xlink:href="#', f'href="#{name}-').replace("url(#", f"url(#{name}-")
    svg = re.sub(r"<style.*?</style>", "", svg, flags=re.DOTALL)
    return svg.replace(INK, "currentColor").replace(GRID, "var(--line)")
