"""The JSON Schema of configs, for editors."""

from __future__ import annotations

from typing import Any

from rankpursuit.experiments.catalogue import METHODS
from rankpursuit.experiments.config.experiment import Experiment
from rankpursuit.experiments.syntax.sections import LABEL


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a config file, for editors.

    It knows keys, types and choices. It does not ask for all that an experiment needs, since a file
    may leave keys to the file that it extends; `load_experiment` does.
    """
    schema = Experiment.model_json_schema(by_alias=True)
    schema.pop("required")
    for method in METHODS.values():
        schema["$defs"][method.spec.__name__].pop("required")
    properties = schema["properties"]
    specs = {name: {"$ref": f"#/$defs/{method.spec.__name__}"} for name, method in METHODS.items()}
    dropped = {"type": "null"}
    properties["algorithms"] = {
        "description": properties["algorithms"]["description"] + " Null drops an inherited one.",
        "type": "object",
        "propertyNames": {"pattern": LABEL},
        "properties": {method: {"anyOf": [spec, dropped]} for method, spec in specs.items()},
        "additionalProperties": {
            "anyOf": [dropped, {"required": ["method"], "anyOf": list(specs.values())}]
        },
    }
    extends = {
        "description": "The config whose keys hold unless given here: the name of one of the "
        "package, such as paper, or the path of a file, relative to this one.",
        "type": "string",
        "minLength": 1,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Experiment of rankpursuit",
        "properties": {"extends": extends, **properties},
    }
