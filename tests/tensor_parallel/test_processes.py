"""``mpiexec -n 4`` prints what one process prints, up to what the ranks exchanged."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

from tests.collectives.printed import MPIEXEC, printed

MODULE = "llmserve_lab.tensor_parallel"


def test_four_processes_print_the_logits_of_one(
    optional: Callable[[str, object], None],
) -> None:
    optional("the extra mpi is not installed", MPIEXEC and find_spec("mpi4py"))
    one, alone = printed(MODULE)
    four, together = printed(MODULE, str(MPIEXEC), "-n", "4")
    assert one == four and "logits:" in one
    assert alone.split()[0] == "1" and together.split()[0] == "4"
