"""A pipeline and a ring: ``python -m llmserve_lab.parallelism``, or under mpiexec.

``mpiexec -n 4 python -m llmserve_lab.parallelism`` prints the same logits from four
processes. Without mpiexec the model runs on one rank in this process.
"""

from __future__ import annotations

import numpy as np

from llmserve_lab.collectives import launched
from llmserve_lab.parallelism.context import (
    ContextTurn,
    MethodName,
    context_parallel,
    in_order,
)
from llmserve_lab.parallelism.model import GROUPS, PROMPT, SMALL
from llmserve_lab.parallelism.pipeline import decode_plan, pipelined
from llmserve_lab.parallelism.rows import Backend, sequence_parallel
from llmserve_lab.transformer import Transformer
from llmserve_lab.transformer.arithmetic import Array

NEW_TOKENS = 4
SHOWN = 4  # logits of the last token that are printed


def main() -> None:
    """Print some logits of each axis once, and the bytes that left the ranks."""
    processes = launched()
    ranks, model = processes or 1, Transformer(SMALL)
    backend: Backend = "mpi" if processes else "lockstep"
    plan = decode_plan(GROUPS, NEW_TOKENS)
    pipe = pipelined(model, plan, ranks, backend=backend)
    lines = [("pipeline", pipe.results[-1].logits[-1][-1], pipe.ledger.sent_bytes())]
    methods: tuple[MethodName, ...] = ("pass-KV", "pass-Q")
    for method in methods:
        turns = (ContextTurn(PROMPT, method), ContextTurn((7,), "decode"))
        ring = context_parallel(model, turns, ranks, backend=backend)
        logits = in_order(ring.results)[-1]
        lines.append((f"ring, {method}", logits, ring.ledger.sent_bytes()))
    rows = sequence_parallel(model, PROMPT, ranks, backend=backend)
    lines.append(("sequence", rows.results[-1][-1], rows.ledger.sent_bytes()))
    if 0 in pipe.local_ranks:
        _tell(lines)
        print(f"ranks: {ranks}")
        for name, _, sent in lines:
            print(f"{name}: {sent} bytes left the ranks")


def _tell(lines: list[tuple[str, Array, int]]) -> None:
    for name, logits, _ in lines:
        shown = " ".join(f"{value:+.9f}" for value in logits[:SHOWN])
        print(f"{name}: {shown}, next token {int(np.argmax(logits))}")


if __name__ == "__main__":
    main()
