"""Words from outside, made safe to print: what a terminal would obey, or not show, is spelt out."""

from __future__ import annotations


def visible(text: str, keep: str = "") -> str:
    r"""Return a text with every character that does not print written as an escape.

    Control characters can move the cursor, rename the window or hide a line; those that set the
    direction of writing can make a name read as another one; half a surrogate pair cannot be
    printed at all.

    Parameters
    ----------
    text : str
    keep : str
        Characters to leave as they are.

    Returns
    -------
    str

    Examples
    --------
    >>> print(visible("a\x1b[2Jb\u202ec"))
    a\x1b[2Jb\u202ec
    """
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable() or character in keep
        else character.encode("unicode_escape").decode()
        for character in text
    )


def one_line(text: str) -> str:
    """Return a text as one visible line: line breaks become spaces."""
    return visible(" ".join(text.splitlines()))


def cut(text: str, longest: int) -> str:
    """Return a text of at most so many characters; dots stand for what is left out."""
    return text if len(text) <= longest else text[: longest - 3] + "..."
