"""One digit in every stored output: the page must not say what the code does not.

nbval runs the code of a notebook and compares what it prints with what is stored; it
never feeds a stored output to the kernel. So one run can carry a defect in every cell
at once, each on its own: a defect counts as caught only if *its own cell* is reported.
A cell with several outputs, or an output in several forms (HTML, LaTeX, plain text),
takes several runs. The comparison is nbval's, called as ``make test`` calls it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from planted.defect import DIGITS, Defect, other_digit

KIND = "outputs"
MARK = "\ue000"  # a private character: no notebook has it

Text = list[str]  # a stored string, as the file splits it into lines


def stored(cell: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Every form of every output: its name, and the holder and key of its text."""
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
            yield output["name"], output, "text"
        for mime in output.get("data", {}):
            yield mime, output["data"], mime


def dumped(notebook: dict[str, Any]) -> str:
    """The notebook as it lies on disk."""
    return json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def in_notebook(path: Path, root: Path, seed: int) -> Iterator[list[Defect]]:
    """For each code cell its defects, one for each form of each output with a digit.

    Raises:
        ValueError: the file is not laid out as ``make run`` leaves it.
    """
    text = path.read_text("utf8")
    notebook = json.loads(text)
    if dumped(notebook) != text:
        raise ValueError(f"{path.name} must lie on disk as `make run` leaves it")
    file = path.relative_to(root).as_posix()
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    chosen = [list(mark(cell, f"{seed} {file} {n}")) for n, cell in enumerate(cells)]
    starts = places(dumped(notebook))
    for number, found in enumerate(chosen):
        drawn = [(form, next(starts), rng) for form, rng in found]
        yield [
            _defect(text.encode(), file, start, rng, number, form)
            for form, start, rng in drawn
        ]


def mark(cell: dict[str, Any], seed: str) -> Iterator[tuple[str, random.Random]]:
    """Put ``MARK`` in place of one digit of each stored text, drawn at random."""
    for place, (form, holder, key) in enumerate(stored(cell)):
        rng = random.Random(f"{seed} {place}")
        whole = holder[key]
        lines = [whole] if isinstance(whole, str) else whole
        spots = [
            (n, i) for n, s in enumerate(lines) for i, c in enumerate(s) if c in DIGITS
        ]
        if spots:
            n, i = rng.choice(spots)
            lines[n] = lines[n][:i] + MARK + lines[n][i + 1 :]
            holder[key] = lines[0] if isinstance(whole, str) else lines
            yield form, rng


def places(marked: str) -> Iterator[int]:
    """Bytes before each mark, were it still the one-byte digit that was there."""
    start = 0
    for part in marked.split(MARK)[:-1]:
        start += len(part.encode())
        yield start
        start += 1


def _defect(
    data: bytes, file: str, start: int, rng: random.Random, cell: int, form: str
) -> Defect:
    digit = data[start : start + 1].decode()
    other = other_digit(digit, rng)
    near = [data[start - 12 : start], data[start + 1 : start + 13]]
    left, right = (part.decode("utf8", "replace").split("\n") for part in near)
    return Defect(
        kind=KIND,
        file=file,
        start=start,
        end=start + 1,
        line=data.count(b"\n", 0, start) + 1,
        before=f"{form} …{left[-1]}{digit}{right[0]}…",
        after=other,
        aim=f"{file}::Cell {cell}",
    )


def runs(root: Path, seed: int) -> Iterator[tuple[Defect, ...]]:
    """Defects to be planted together: at most one in a cell, all in one notebook."""
    for path in sorted((root / "chapters").glob("*.ipynb")):
        for together in zip_longest(*in_notebook(path, root, seed)):
            yield tuple(filter(None, together))
