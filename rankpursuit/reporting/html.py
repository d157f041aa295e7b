"""Pieces of a web page: everything that comes from outside is escaped here, once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from rankpursuit.reporting.figures.style import GRID, INK
from rankpursuit.reporting.table import Cell, Part, Table


def slug(text: str) -> str:
    """Return a text as an identifier.

    Examples
    --------
    >>> slug("Jester, 20-40")
    'jester-20-40'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def table_html(table: Table, leave_out: Sequence[str] = ()) -> str:
    """Return a table, each part in a box of its own, with buttons in the header to sort by.

    Parameters
    ----------
    table : Table
    leave_out : sequence of str
        Notes that stand elsewhere on the page.
    """
    notes = [note for note in table.notes if note not in leave_out]
    boxes = "\n".join(_part(table, part) for part in table.parts)
    return f"<h3>{escape(table.title)}</h3>\n{boxes}{paragraphs(notes, 'note')}"


def _part(table: Table, part: Part) -> str:
    head = "".join(
        f'<th scope="col" aria-sort="none"><button type="button">{escape(name)}</button></th>'
        for name in (part.heading, *table.columns)
    )
    body = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th>{"".join(map(_cell, cells))}</tr>'
        for name, cells in part.rows.items()
    )
    label = escape(f"{table.title}: {part.heading}")
    kind = ' class="words"' if table.align == "l" else ""
    return (
        f'<div class="box" role="region" tabindex="0" aria-label="{label}">'
        f"<table{kind}><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _cell(cell: Cell) -> str:
    """Return a cell that is sorted by the first of its numbers, or by its text if it has none."""
    key = next(iter(cell.numbers.values()), None)
    sort = "" if key is None else f' data-sort="{key:.12g}"'
    text = escape(cell.text)
    return f"<td{sort}>{f'<b>{text}</b>' if cell.best else text}{escape(cell.rest)}</td>"


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
