"""Run a study and write its page in ``results/``: ``python scripts/study.py NAME``."""

from __future__ import annotations

import click
from studies import ablations, defaults, inference, interpretations, letor

STUDIES = [ablations.main, interpretations.by_user, defaults.main, inference.main]
STUDIES += [interpretations.main, letor.main]
main = click.Group(help=__doc__, commands=STUDIES)

if __name__ == "__main__":
    main()
