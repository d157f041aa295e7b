"""The language of configs: YAML files, sections of known keys, grids, faults in plain English."""
