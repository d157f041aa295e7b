"""The templates of the report; what they print is escaped, except the drawings."""

from __future__ import annotations

import re
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from matplotlib.figure import Figure

from rankpursuit.reporting.figures.style import GRID, INK, to_svg


def render(template: str, **values: Any) -> str:
    """Return a template of this package, filled in.

    Parameters
    ----------
    template : str
        Its name, such as ``report.html``.
    **values : object
        What it names; a name without a value is an error.
    """
    return _environment().get_template(template).render(values)


def slug(text: str) -> str:
    """Return a text as an identifier.

    Examples
    --------
    >>> slug("Jester, 20-40")
    'jester-20-40'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def inline_svg(svg: str, name: str) -> str:
    """Return a drawing to put inside a page, in the colours of the page's text.

    What only a file of its own needs is left out (declarations, metadata, the fixed size), its
    width becomes the variable ``--natural``, and identifiers get a prefix, since those of a page
    must differ.
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' xmlns(:xlink)?="[^"]*"', "", svg)
    svg = re.sub(r"(<svg[^>]*?) width=\"([^\"]*)\"", r'\1 style="--natural: \2"', svg, count=1)
    svg = re.sub(r"(<svg[^>]*?) height=\"[^\"]*\"", r"\1", svg, count=1)
    svg = svg.replace("<svg", '<svg role="img" aria-hidden="true"', 1)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = svg.replace('xlink:href="#', f'href="#{name}-').replace("url(#", f"url(#{name}-")
    svg = re.sub(r"<style.*?</style>", "", svg, flags=re.DOTALL)
    return svg.replace(INK, "currentColor").replace(GRID, "var(--line)")


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("rankpursuit.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["drawing"] = _drawing
    environment.filters["powers"] = _powers
    return environment


def _drawing(figure: Figure, name: str) -> Markup:
    """Return a figure to put inside a page."""
    return Markup(inline_svg(to_svg(figure), str(escape(name))))


def _powers(text: str) -> Markup:
    """Return a text whose powers, such as ``2^-3``, are raised."""
    raised = re.sub(r"(\d)\^(-?\d+)", r"\1<sup>\2</sup>", str(escape(text)))
    return Markup(raised.replace("<sup>-", "<sup>&minus;"))
