#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The JSON Schemas of plans, tables and targets against the engine: real documents are valid, and a document
with one member removed or replaced is refused by the schema exactly when the engine refuses it.

    schema_checks.py SCHEMA_SAMPLES SCHEMA_FOLDER
"""
import copy
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import jsonschema

SAMPLES, SCHEMAS = sys.argv[1:3]
OTHERS = [None, True, -1, 0, 0.5, 1.5, 3, 17, 70000, 1e300, "", "x", [], {}, [1, "x"], ["x"], [None]]

# Rules that a schema cannot express: the engine alone refuses these.
BEYOND_THE_SCHEMA = (
    "numbers for",  # lengths that follow from the number of layers
    "layers",
    "the plan lists",
    "configurations",
    "is not on the plan's grid",
    "after",  # an axis that does not ascend
    "two targets are named",
)


def engine(*arguments):
    return subprocess.run([SAMPLES, *arguments], capture_output=True, text=True, timeout=120, check=True).stdout


def places(value, path=()):
    """The path of every member; of a list only its first entry is entered."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, path + (key,))
    elif isinstance(value, list) and value:
        yield from places(value[0], path + (0,))


def changed(document, path, new=None, remove=False):
    document = copy.deepcopy(document)
    holder = document
    for step in path[:-1]:
        holder = holder[step]
    if remove:
        del holder[path[-1]]
    else:
        holder[path[-1]] = new
    return document


class Schemas(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="lamina-schema-")
        engine("write", cls.folder.name)
        shutil.copy(os.path.join(SCHEMAS, "..", "targets.json"), os.path.join(cls.folder.name, "builtin.targets.json"))
        cls.validators = {}
        for kind in ("table", "plan", "targets"):
            with open(os.path.join(SCHEMAS, kind + ".schema.json"), encoding="utf-8") as file:
                schema = json.load(file)
            jsonschema.Draft202012Validator.check_schema(schema)
            cls.validators[kind] = jsonschema.Draft202012Validator(schema)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def documents(self):
        for name in sorted(os.listdir(self.folder.name)):
            with open(os.path.join(self.folder.name, name), encoding="utf-8") as file:
                yield name, name.split(".")[-2], json.load(file)

    def test_real_documents_are_valid(self):
        kinds = []
        for name, kind, document in self.documents():
            kinds.append(kind)
            with self.subTest(name):
                self.validators[kind].validate(document)
        self.assertEqual(kinds.count("table"), 2)
        self.assertEqual(kinds.count("plan"), 8)
        self.assertEqual(kinds.count("targets"), 1)

    def test_schema_and_engine_agree_on_changed_documents(self):
        for name, kind, document in self.documents():
            if name not in ("rich.table.json", "rich.actual.greedy.plan.json", "builtin.targets.json"):
                continue
            if kind == "targets":  # the first two, which have every member between them
                document["targets"] = document["targets"][1::-1]
            variants = []
            for path in places(document):
                if not path:
                    continue
                if not isinstance(path[-1], int):
                    variants.append((path, "removed", changed(document, path, remove=True)))
                variants += [(path, other, changed(document, path, other)) for other in OTHERS]
            with tempfile.TemporaryDirectory() as folder:
                files = []
                for i, (_, _, variant) in enumerate(variants):
                    files.append(os.path.join(folder, f"{i}.{kind}.json"))
                    with open(files[-1], "w", encoding="utf-8") as file:
                        json.dump(variant, file)
                verdicts = engine("read", *files).splitlines()
            self.assertEqual(len(verdicts), len(variants))
            for (path, new, variant), verdict in zip(variants, verdicts):
                valid = self.validators[kind].is_valid(variant)
                beyond = any(rule in verdict for rule in BEYOND_THE_SCHEMA)
                if valid and beyond:
                    continue
                with self.subTest(name=name, path=path, new=new):
                    self.assertEqual(valid, verdict == "accepted", verdict)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
