"""Run a study, and write its CSV file in ``results/`` and the pages: ``study.py NAME``."""

from __future__ import annotations

import click
from studies import ablations, boosting, defaults, inference, interpretations

STUDIES = [ablations.main, interpretations.by_user, defaults.main, inference.main]
STUDIES += [interpretations.main, boosting.main]
main = click.Group(help=__doc__, commands=STUDIES)

if __name__ == "__main__":
    main()
