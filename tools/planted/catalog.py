"""One digit in every number of the catalog: each must be counted or read twice."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from pathlib import Path

from planted.defect import Defect, other_digit, python_defect

KIND = "catalog"
FOLDER = "src/llmserve_lab/catalog"


def numbers(text: str) -> Iterator[ast.Constant]:
    """The numeric literals of some Python source, from top to bottom."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            yield node


def misread(literal: str, rng: random.Random) -> str:
    """The literal with one digit changed, and with it the value."""
    places = [place for place, sign in enumerate(literal) if sign.isdigit()]
    while True:
        place = rng.choice(places)
        other = other_digit(literal[place], rng)
        changed = literal[:place] + other + literal[place + 1 :]
        try:
            if ast.literal_eval(changed) != ast.literal_eval(literal):
                return changed
        except SyntaxError:  # a leading zero
            continue


def in_catalog(root: Path, seed: int) -> Iterator[Defect]:
    """A wrong digit for each literal of each file of the catalog."""
    for path in sorted((root / FOLDER).rglob("*.py")):
        text = path.read_text("utf8")
        for node in numbers(text):
            rng = random.Random(f"{seed} {path.name} {node.lineno} {node.col_offset}")
            literal = ast.get_source_segment(text, node) or ""
            yield python_defect(KIND, path, root, node, misread(literal, rng))
