"""Validates the documents of a file with the jsonschema package. Arguments: folder of schemas (<kind>.json), file."""

import json
import sys
from pathlib import Path

import jsonschema
import yaml


def main(folder: str, document: str) -> int:
    schemas = {path.stem: json.loads(path.read_text()) for path in Path(folder).glob("*.json")}
    validators = {kind: jsonschema.Draft202012Validator(schema) for kind, schema in schemas.items()}
    bad = 0
    with open(document, "rb") as stream:
        for value in yaml.load_all(stream, yaml.CSafeLoader):
            bad += not validators[value["kind"].lower()].is_valid(value)
    print(bad)
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
