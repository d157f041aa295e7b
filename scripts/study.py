"""Run a study, and write its CSV file in ``results/`` and the pages: ``study.py NAME``."""

import click
from studies import ablations, boosting, defaults, frontier, identity, inference, interpretations

STUDIES = [ablations.main, boosting.main, defaults.main, frontier.main]
STUDIES += [identity.main, inference.main, interpretations.main]
main = click.Group(help=__doc__, commands=[*STUDIES, interpretations.by_user])

if __name__ == "__main__":
    main()
