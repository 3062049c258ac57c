"""``mpiexec -n 4`` prints what one process prints, up to what the ranks exchanged."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from tests.cluster.test_processes import OPEN_MPI

MODULE = "llmserve_lab.tensor_parallel"
MPIEXEC = shutil.which("mpiexec", path=str(Path(sys.executable).parent))


def printed(*launcher: str) -> tuple[str, str]:
    """What comes before the ranks, and what comes after."""
    command = [*launcher, sys.executable, "-m", MODULE]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=os.environ | OPEN_MPI,
    )
    logits, _, ranks = done.stdout.partition("ranks:")
    return logits, ranks


def test_four_processes_print_the_logits_of_one(
    optional: Callable[[str, object], None],
) -> None:
    optional("the extra mpi is not installed", MPIEXEC and find_spec("mpi4py"))
    one, alone = printed()
    four, together = printed(str(MPIEXEC), "-n", "4")
    assert one == four and "logits:" in one
    assert alone.split()[0] == "1" and together.split()[0] == "4"
