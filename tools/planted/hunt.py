"""Plant, ask the tests, take the defect out again; two workers at a time."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from planted.defect import Defect
from planted.nets import Net
from planted.sandbox import Sandbox, load_tools

Caught = tuple[Defect, str]  # a defect, and the net that caught it: "" for none
Nets = Callable[[Path, Defect | None], list[Net]]

_sandbox: Sandbox  # of this worker


def start(root: Path, scratch: Path) -> None:
    """Get a worker ready: its copy of the tree, and the tools."""
    global _sandbox
    _sandbox = Sandbox(root, scratch / str(os.getpid()))
    load_tools()


def judge(defect: Defect, nets: Nets) -> Caught:
    """Plant, and ask one net after another until the defect is caught."""
    with _sandbox.holding([defect]):
        for name, told in nets(_sandbox.root, defect):
            if _sandbox.pytest(*told).red:
                return defect, name
    return defect, ""


def red_already(nets: Nets) -> list[str]:
    """Tests that fail with no defect planted: they would see one everywhere."""
    outcomes = (_sandbox.pytest(*told) for _, told in nets(_sandbox.root, None))
    return [test for outcome in outcomes for test in outcome.failed]


def hunt(
    root: Path,
    defects: Iterable[Defect],
    nets: Mapping[str, Nets],
    workers: int,
    *,
    green: bool = False,
) -> Iterator[Caught]:
    """Judge all defects, ``workers`` at a time, each with the nets for its kind.

    The tests are run first, unless they are known to be ``green``.

    Raises:
        RuntimeError: a test fails before anything is planted.
    """
    defects = list(defects)
    kinds = sorted({defect.kind for defect in defects})
    os.environ["PYTHONHASHSEED"] = "0"  # in all workers and kernels, as under make
    with (
        tempfile.TemporaryDirectory(prefix="mutants-") as scratch,
        ProcessPoolExecutor(
            workers, get_context("spawn"), start, (root, Path(scratch))
        ) as pool,
    ):
        first = [] if green else [nets[kind] for kind in kinds]
        for failed in pool.map(red_already, first):
            if failed:
                raise RuntimeError(f"tests must be green first, got {failed}")
        jobs = [pool.submit(judge, each, nets[each.kind]) for each in defects]
        for job in as_completed(jobs):
            yield job.result()
