"""Format text for messages: escape untrusted strings, and write counts and durations."""

from __future__ import annotations


def escape_unprintable(text: str, keep: str = "") -> str:
    r"""Escape every unprintable character of a string, except those in `keep`.

    Control characters can move the cursor or hide a line, and bidirectional marks can make one
    name look like another.

    >>> print(escape_unprintable("a\x1b[2Jb\u202ec"))
    a\x1b[2Jb\u202ec
    """
    return "".join(
        character
        if character.isprintable() or character in keep
        else character.encode("unicode_escape").decode()
        for character in text
    )


def one_line(text: str) -> str:
    """Replace line breaks by spaces, and escape unprintable characters."""
    return escape_unprintable(" ".join(text.splitlines()))


def truncate(text: str, max_length: int) -> str:
    """Truncate a string to at most `max_length` characters; dots replace the rest."""
    return text if len(text) <= max_length else text[: max_length - 3] + "..."


def pluralize(number: int, noun: str) -> str:
    """Format a count with its noun, in the plural unless the count is 1.

    >>> pluralize(1, "repeat"), pluralize(3000, "test user")
    ('1 repeat', '3,000 test users')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


def duration(seconds: float) -> str:
    """Format a duration, rounded.

    >>> duration(12.3), duration(200), duration(8000)
    ('12 s', '3 min', '2 h 13 min')
    """
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
