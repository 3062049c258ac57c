"""Two and four processes print what one prints, up to what the ranks exchanged."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import pytest

from llmserve_lab.parallelism.context import ContextTurn, context_parallel
from llmserve_lab.parallelism.model import GROUPS, PROMPT, SMALL
from llmserve_lab.parallelism.pipeline import decode_plan, pipelined
from llmserve_lab.transformer import Transformer
from tests.collectives.printed import MPIEXEC, printed

MODULE = "llmserve_lab.parallelism"


@pytest.mark.parametrize("processes", [2, 4])
def test_processes_print_the_logits_of_one(
    processes: int, optional: Callable[[str, object], None]
) -> None:
    optional("the extra mpi is not installed", MPIEXEC and find_spec("mpi4py"))
    one, _ = printed(MODULE)
    several, together = printed(MODULE, str(MPIEXEC), "-n", str(processes))
    assert one == several and "ring, pass-Q" in one
    model = Transformer(SMALL)
    pipe = pipelined(model, decode_plan(GROUPS, 4), processes)
    assert f"pipeline: {pipe.ledger.sent_bytes()} bytes" in together
    turns = (ContextTurn(PROMPT, "pass-Q"), ContextTurn((7,), "decode"))
    ring = context_parallel(model, turns, processes)
    assert f"ring, pass-Q: {ring.ledger.sent_bytes()} bytes" in together
