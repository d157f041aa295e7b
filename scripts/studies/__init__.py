"""Studies behind the pages in ``results/``; ``python scripts/study.py`` runs them."""
