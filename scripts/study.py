"""Run a study and write its page in ``results/``: ``python scripts/study.py NAME``."""

from __future__ import annotations

import click
from studies import ablations, defaults, inference, interpretations, letor

main = click.Group(
    help=__doc__,
    commands={
        "ablations": ablations.main,
        "by-user": interpretations.by_user,
        "defaults": defaults.main,
        "inference": inference.main,
        "letor": letor.main,
        "interpretations": interpretations.main,
    },
)

if __name__ == "__main__":
    main()
