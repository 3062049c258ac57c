"""One model, one prompt, some ranks: ``python -m llmserve_lab.tensor_parallel``.

``mpiexec -n 4 python -m llmserve_lab.tensor_parallel`` prints the same logits from four
processes. Without mpiexec the model runs on one rank in this process.
"""

from __future__ import annotations

import numpy as np

from llmserve_lab.catalog import LINKS
from llmserve_lab.collectives import Rank, launched, run
from llmserve_lab.collectives.calibration import nccl
from llmserve_lab.tensor_parallel.model import SMALL, TOKENS, forward
from llmserve_lab.transformer import Transformer
from llmserve_lab.transformer.arithmetic import Array

SHOWN = 6  # logits of the last token that are printed


def logits(rank: Rank) -> Array:
    """Logits [n, V] of the prompt on this rank."""
    return forward(rank, Transformer(SMALL), TOKENS)


def main() -> None:
    """Print some logits of the last token once, and what the ranks exchanged."""
    processes = launched()
    done = run(logits, processes or 1, backend="mpi" if processes else "lockstep")
    if 0 in done.local_ranks:
        last = done.results[0][-1]
        print("logits:", *(f"{value:+.9f}" for value in last[:SHOWN]))
        print("next token:", int(np.argmax(last)), "\n")
        print(f"ranks: {done.ledger.num_ranks}")
        hop_s = nccl().hop_s  # of a step, not from end to end
        print(done.ledger.table(LINKS["nvlink4"], latency_s=hop_s))


if __name__ == "__main__":
    main()
