"""Prefill with the same formulas: thousands of rows, no cache, the vanilla form.

Three things differ from decode. Keys and values are made once for all rows, so
absorbing would only widen them. The kernels for many rows send one copy of a row to a
node, which hands one to each of its GPUs that has an expert of the row. And where they
run while GEMMs do, they run on multiprocessors that the GEMMs then lack.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from llmserve_lab.collectives.formulas import ROW_COPIES
from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.model.setup import Numbers, Setup
from llmserve_lab.deepseek.model.step_model import Twin


def touched(setup: Setup, *, places: float) -> float:
    """How many of a node's ``places`` equal places a row needs, over all of its nodes.

    One place a node counts nodes; as many as its GPUs counts GPUs. Each of the row's
    experts is drawn evenly from those nodes that it may use, as in ``row_copies``.

    Raises:
        ValueError: the GPUs do not fill their nodes.
    """
    if setup.n_nodes > 1 and setup.n_gpus % setup.accelerator.num_devices:
        raise ValueError(
            f"n_gpus must fill whole nodes of {setup.accelerator.num_devices} in "
            f"prefill, got {setup.n_gpus}"
        )
    among = setup.nodes_of_a_row * places
    share = setup.nodes_of_a_row / setup.n_nodes
    experts = round(setup.experts.n_experts * share)  # of those nodes
    return float(ROW_COPIES(ep=among, n_experts=experts, top_k=setup.experts.top_k))


def copies(setup: Setup) -> dict[str, float]:
    """Copies of a row, all together, and the share of them that leaves the node.

    Between nodes goes one for each node, inside one for each GPU; a GPU's own is among
    them, as it is in the rate that the library reached inside a node.
    """
    far = touched(setup, places=1) * float(f.FAR_SHARE(n_nodes=setup.n_nodes))
    near = touched(setup, places=setup.n_gpus / setup.n_nodes)
    return {"dispatched_copies": far + near, "far_share": far / (far + near)}


def prefill_blocks(
    twin: Twin, *, prompt: Any, rows: Any, cached: Any = 0.0, **more: Any
) -> Numbers:
    """Seconds of each block of a pass over ``rows`` rows a GPU, prompts whole.

    Every prompt brings ``prompt`` new tokens; ``cached`` more before them are in the
    cache. All three may be arrays, which broadcast. ``more`` are arguments of the
    formulas that differ from the twin's; the others are evaluated with as many new
    rows as a prompt has new tokens. Two halves may each have half of a prompt, as in
    the published profile.

    Raises:
        TypeError: ``more`` holds something that the twin does not know.
        ValueError: a prompt is shorter than a token, rows are fewer than a prompt,
            less than nothing is cached, or the GPUs do not fill their nodes.
    """
    at_once = _in_prefill(twin)
    return at_once.blocks_of(_arguments(at_once, prompt, rows, cached, more))


def prefill_s(
    twin: Twin, *, prompt: Any, rows: Any, cached: Any = 0.0, **more: Any
) -> Any:
    """Seconds of that pass: ``turn_s``, ``hidden_s`` or ``halves_s``.

    Raises:
        TypeError, ValueError: as :func:`prefill_blocks`.
    """
    at_once = _in_prefill(twin)
    return at_once.step_of(_arguments(at_once, prompt, rows, cached, more))


def _in_prefill(twin: Twin) -> Twin:
    """The same twin with the form and the kernels of prefill."""
    assumed = replace(twin.assumptions, form="vanilla", own_node_copies="near")
    return replace(twin, assumptions=assumed)


def _arguments(
    twin: Twin, prompt: Any, rows: Any, cached: Any, more: Numbers
) -> Numbers:
    """Arguments of the formulas for such a pass."""
    _check(prompt, rows, cached)
    known = twin.arguments(batch=np.divide(rows, prompt), context=cached)
    if unknown := sorted(set(more) - set(known)):
        raise TypeError(f"the twin does not know {', '.join(unknown)}")
    known |= {"chunk": np.asarray(prompt, np.float64)} | copies(twin.setup) | more
    shares = twin.assumptions.kernels_on(twin.setup.accelerator)
    length = np.add(prompt, cached)
    known["attn_rate"] *= shares.attention_in(length) / shares.attention
    for rate in ("gemm_rate", "attn_rate"):
        known[rate] *= 1 - lent(twin)
    return known


def lent(twin: Twin) -> float:
    """Share of the multiprocessors that the GEMMs lack: none if they run alone."""
    return twin.assumptions.lent_share if twin.overlap != "none" else 0.0


def _check(prompt: Any, rows: Any, cached: Any) -> None:
    if not np.all(np.asarray(prompt) >= 1):
        raise ValueError(f"prompt must be at least 1 token, got {prompt}")
    if not np.all(np.asarray(rows) >= prompt):
        raise ValueError(f"rows must be those of a prompt of {prompt}, got {rows}")
    if not np.all(np.asarray(cached) >= 0):
        raise ValueError(f"cached must be at least 0 tokens, got {cached}")
