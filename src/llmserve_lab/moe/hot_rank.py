"""Hot rank (load imbalance): rows are drawn, packed and sent, and bytes counted.

The closed forms say what goes from each rank to the hot one and to any other. Here the
ranks exchange it.
"""

from __future__ import annotations

import numpy as np

from llmserve_lab.collectives import Rank, run
from llmserve_lab.formula.text import si
from llmserve_lab.moe import formulas as f
from llmserve_lab.moe.parallel import pack, row_bytes
from llmserve_lab.moe.placement import contiguous
from llmserve_lab.moe.routing_sampler import draw
from llmserve_lab.page.table import Table
from llmserve_lab.transformer.arithmetic import Array, Integers

RANKS, N_EXPERTS, WIDTH = 8, 256, 2


def popularity(hot_share: float) -> Array:
    """Chance of every expert [E]: rank 0's share ``hot_share`` beside the even rest.

    Raises:
        ValueError: the share is none.
    """
    if not 0 <= hot_share <= 1:
        raise ValueError(f"hot_share must be in [0, 1], got {hot_share}")
    even = np.full(N_EXPERTS, (1 - hot_share) / N_EXPERTS)
    even[: N_EXPERTS // RANKS] += hot_share * RANKS / N_EXPERTS
    return even


def exchanged(*, hot_share: float, n_rows: int, top_k: int) -> tuple[Array, int]:
    """Bytes from every rank to every rank [g, g], and all that left a rank by ledger.

    Rows are drawn one expert at a time, so that a popular one may be drawn again.

    Raises:
        ValueError: the rows cannot be dealt out to the ranks evenly, or the share is
            none.
    """
    if not 0 <= hot_share <= 1:
        raise ValueError(f"hot_share must be in [0, 1], got {hot_share}")
    if n_rows < RANKS or n_rows % RANKS:
        raise ValueError(f"n_rows must be a multiple of {RANKS}, got {n_rows}")
    where = contiguous(N_EXPERTS, RANKS)

    def program(rank: Rank) -> tuple[int, ...]:
        chosen = _chosen(hot_share, n_rows // RANKS * top_k, seed=rank.index)
        parcels = pack(chosen, np.ones(chosen.shape), where, copies="expert")
        rows = np.ones((len(chosen), WIDTH))
        rank.all_to_all(rows[parcels.rows], parcels.counts)
        return parcels.counts

    done = run(program, RANKS)
    row = np.ones((1, WIDTH)).nbytes
    return row * np.array(done.results), row_bytes(done.ledger, WIDTH)


def _chosen(hot_share: float, n_draws: int, seed: int) -> Integers:
    """One expert for each of so many draws, [n, 1]."""
    return draw(popularity(hot_share), n_rows=n_draws, top_k=1, seed=seed)


def exchanged_table(*, hot_share: float, n_rows: int, top_k: int) -> Table:
    """Table of bytes to the hot rank and to any other: counted, and by closed form."""
    matrix, _ = exchanged(hot_share=hot_share, n_rows=n_rows, top_k=top_k)
    size = {
        "n_rows": n_rows,
        "top_k": top_k,
        "hot_share": hot_share,
        "ep": RANKS,
        "d_model": WIDTH,
        "bytes_act": np.ones(1).itemsize,
    }
    ways = (
        ("rank 0", matrix[:, :1], f.HOT_BYTES),
        ("another", matrix[:, 1:], f.COLD_BYTES),
    )
    rows = [
        (
            name,
            *(
                si(float(each), "byte")
                for each in (sent.mean(), sent.min(), sent.max())
            ),
            si(float(formula(**size)), "byte"),
        )
        for name, sent, formula in ways
    ]
    columns = ("from each rank to", "counted, mean", "least", "most", "closed form")
    return Table(f"{n_rows} rows on {RANKS} ranks, executed", columns, rows)
