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

Together = tuple[Defect, ...]  # planted in one run, all in one file
Caught = tuple[Defect, str]  # a defect, and the net that caught it: "" for none
Nets = Callable[[Path, Defect | None], list[Net]]

_sandbox: Sandbox  # of this worker


def start(root: Path, scratch: Path) -> None:
    """Get a worker ready: its copy of the tree, and the tools."""
    global _sandbox
    _sandbox = Sandbox(root, scratch / str(os.getpid()))
    load_tools()


def judge(together: Together, nets: Nets) -> list[Caught]:
    """Plant, and ask one net after another until every defect is caught."""
    missed, caught = list(together), []
    with _sandbox.holding(together):
        for name, told in nets(_sandbox.root, together[0]):
            outcome = _sandbox.pytest(*told)
            caught += [(defect, name) for defect in missed if outcome.saw(defect)]
            missed = [defect for defect in missed if not outcome.saw(defect)]
            if not missed:
                break
    return caught + [(defect, "") for defect in missed]


def red_already(nets: Nets) -> list[str]:
    """Tests that fail with no defect planted: they would see one everywhere."""
    outcomes = (_sandbox.pytest(*told) for _, told in nets(_sandbox.root, None))
    return [test for outcome in outcomes for test in outcome.failed]


def hunt(
    root: Path, runs: Iterable[Together], nets: Mapping[str, Nets], workers: int
) -> Iterator[list[Caught]]:
    """Judge all runs, ``workers`` at a time, each with the nets for its kind.

    Raises:
        RuntimeError: a test fails before anything is planted.
    """
    runs = list(runs)
    kinds = sorted({together[0].kind for together in runs})
    os.environ["PYTHONHASHSEED"] = "0"  # in all workers and kernels, as under make
    with (
        tempfile.TemporaryDirectory(prefix="mutants-") as scratch,
        ProcessPoolExecutor(
            workers, get_context("spawn"), start, (root, Path(scratch))
        ) as pool,
    ):
        for failed in pool.map(red_already, [nets[kind] for kind in kinds]):
            if failed:
                raise RuntimeError(f"tests must be green first, got {failed}")
        jobs = [pool.submit(judge, run, nets[run[0].kind]) for run in runs]
        for job in as_completed(jobs):
            yield job.result()
