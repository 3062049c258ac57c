"""The reader's own router: each row chooses its experts within a few nodes.

The check hands the function affinities, counts the nodes that each row reaches, and
compares the affinity that is kept with that of an unrestricted choice.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from llmserve_lab.deepseek.executed.location import Placed, node_limited, placed
from llmserve_lab.transformer.arithmetic import Array, Integers

TOP_K, NODES, MOST = 8, 8, 4  # as DeepSeek-V3's router was trained
KEPT = 0.99  # of the affinity: what a good choice of nodes keeps
Route = Callable[[Array], Integers]


def run(route: Route, *, n_rows: int = 512) -> Placed:
    """Let the function route some rows.

    Raises:
        ValueError: a row does not get eight different experts.
    """
    return placed(
        lambda scores, _own: route(scores), n_rows=n_rows, top_k=TOP_K, n_nodes=NODES
    )


def check(route: Route) -> str:
    """What is still wrong with a router, beginning with "not yet"; or that all is well.

    Raises:
        ValueError: a row does not get eight different experts.
    """
    found = run(route)
    if found.most_nodes > MOST:
        return (
            f"not yet: a row reaches {found.most_nodes} nodes, "
            f"{found.nodes:.1f} on average;\nit may reach {MOST} at most."
        )
    if found.affinity < KEPT:
        return (
            f"not yet: {MOST} nodes at most, but only {found.affinity:.1%} of the "
            f"affinity is kept;\n{KEPT:.0%} would do. Which nodes are best for a row?"
        )
    return (
        f"well done: {found.nodes:.1f} nodes on average, {MOST} at most,\n"
        f"and {found.affinity:.1%} of the affinity is kept."
    )


def within_nodes(scores: Array) -> Integers:
    """The best experts of the four nodes whose two best experts sum highest."""
    choose = node_limited(MOST, top_k=TOP_K, n_nodes=NODES)
    return choose(scores, np.zeros(len(scores), np.int64))
