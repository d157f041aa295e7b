"""Text for messages: untrusted words made safe to print, and numbers in sentences."""

from __future__ import annotations


def visible(text: str, keep: str = "") -> str:
    r"""Return a text with every unprintable character escaped, except those to `keep`.

    Control characters can move the cursor or hide a line, and marks of the writing direction can
    make a name read as another one.

    >>> print(visible("a\x1b[2Jb\u202ec"))
    a\x1b[2Jb\u202ec
    """
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
    """Return a text of at most so many characters; dots replace the rest."""
    return text if len(text) <= longest else text[: longest - 3] + "..."


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one.

    >>> counted(1, "repeat"), counted(3000, "test user")
    ('1 repeat', '3,000 test users')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


def duration(seconds: float) -> str:
    """Return a length of time in words.

    >>> duration(12.3), duration(200), duration(8000)
    ('12 s', '3 min', '2 h 13 min')
    """
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
