"""How long a reader waits for ``import``: SymPy and others load at the first use."""

import subprocess
import sys
from collections.abc import Iterator
from statistics import median

from benchmarks import Line

REPEATS = 7
PROGRAM = """
from time import perf_counter
start = perf_counter()
import {module}
print(perf_counter() - start)
"""


def seconds(module: str) -> float:
    """Median time to import ``module`` in a fresh interpreter."""
    command = [sys.executable, "-c", PROGRAM.format(module=module)]
    runs = (
        subprocess.run(command, capture_output=True, check=True, text=True)
        for _ in range(REPEATS)
    )
    return median(float(run.stdout) for run in runs)


def main() -> Iterator[Line]:
    """Yield the import times of the package and of the chapter's formulas."""
    yield Line("import llmserve_lab", seconds("llmserve_lab"), 0.3, "s")
    formulas = "llmserve_lab.roofline.formulas"
    yield Line(f"import {formulas}", seconds(formulas), unit="s")
