"""Charts over the size of the group: memory of a GPU, and the time of a layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.moe import formulas as f
from llmserve_lab.page.live.axes import Drawn, QuantityAxis, bound_curves
from llmserve_lab.page.live.bound import Landmark, landmarks
from llmserve_lab.page.palette import INK, MEANINGS

WORDS = "GPUs that share the experts (log)"
FEWEST, MOST = 4, 256


def _ranks(fewest: int) -> QuantityAxis:
    """The axis of group sizes, a tick for each power of two."""
    sizes = [2**i for i in range(2, 9) if 2**i >= fewest]
    ticks = {"values": sizes, "labelExpr": "format(datum.value, 'd')"}
    domain = (float(fewest), float(MOST))
    return QuantityAxis(q.ep, words=WORDS, domain=domain, log=True, ticks=ticks)


def memory(fixed: Mapping[str, float]) -> Any:
    """Weights of a GPU against the size of the group, and its memory for weights."""
    from llmserve_lab.extras import altair as alt

    x = _ranks(FEWEST)
    y = QuantityAxis(
        q.gpu_weight_bytes, "GB", words="weights of one GPU", domain=(0, 200)
    )
    at = {name: repr(float(value)) for name, value in fixed.items()}
    room = "engine_bytes - reserved_bytes"
    return alt.layer(
        *landmarks(
            y,
            "y",
            "value",
            Landmark("memory for weights", q.engine_bytes, down=-4, expr=room),
        ),
        *landmarks(x, "x", "ep", Landmark("your EP size", q.ep)),
        bound_curves(
            x,
            y,
            Drawn(
                "weights of a GPU",
                f.GPU_WEIGHT_BYTES,
                MEANINGS["weights"],
                at,
                label_at=0.62,
            ),
        ),
        height=150,
    )


def layer_time(
    fixed: Mapping[str, float], ways: Mapping[str, float], rest: Mapping[str, float]
) -> Any:
    """Parts of one layer: a GPU's experts, copies that are sent, the rest, and all."""
    from llmserve_lab.extras import altair as alt

    x = _ranks(16)
    y = QuantityAxis(
        q.layer_read_s,
        "µs/layer",
        words="time",
        domain=(0, 900),
        ticks={"tickCount": 5},
    )
    read, compute = (
        _tied(f.LAYER_READ_S, fixed, n_rows="(gpu_rows * datum.ep)", ep="datum.ep"),
        _tied(f.LAYER_COMPUTE_S, fixed, gpu_rows="gpu_rows"),
    )
    longer = (
        f"max({f.LAYER_READ_S.browser(read)}, {f.LAYER_COMPUTE_S.browser(compute)})"
    )
    sending, own = sent_s(fixed, ways), own_s(rest)
    return alt.layer(
        *landmarks(x, "x", "ep", Landmark("your EP size", q.ep, down=8)),
        bound_curves(
            x,
            y,
            Drawn(
                "read",
                f.LAYER_READ_S,
                MEANINGS["weights"],
                _tied(f.LAYER_READ_S, fixed, n_rows="(gpu_rows * datum.ep)"),
                label_at=0.1,
                rising=True,
            ),
            Drawn(
                "compute",
                f.LAYER_COMPUTE_S,
                MEANINGS["compute"],
                _tied(f.LAYER_COMPUTE_S, fixed, gpu_rows="gpu_rows"),
                label_at=1.0,
                rising=True,
            ),
            Drawn(
                "send",
                f.COPIES_S,
                MEANINGS["communication"],
                label_at=0.8,
                expr=sending,
                means="time to send copies and outputs",
            ),
            Drawn(
                "sum",
                f.COPIES_S,
                INK,
                label_at=0.95,
                rising=True,
                expr=f"({longer} + {sending} + {own})",
                means="sum of all three, in sequence",
            ),
            Drawn(
                "rest",
                f.COPIES_S,
                MEANINGS["other"],
                label_at=1.0,
                rising=True,
                expr=own,
                means="rest: attention and shared weights",
            ),
        ),
        height=200,
    )


def sent_s(fixed: Mapping[str, float], ways: Mapping[str, float]) -> str:
    """Vega expression of dispatch and combine, one after the other."""
    both = []
    for one_copy_bytes in ways.values():
        known = {**fixed, "one_copy_bytes": one_copy_bytes}
        at = _tied(f.COPIES_S, known, gpu_rows="gpu_rows", ep="datum.ep")
        both.append(f"({f.COPIES_S.browser(at)})")
    return " + ".join(both)


def own_s(rest: Mapping[str, float]) -> str:
    """Vega expression of the rest: of each of two parts the longer of two times.

    ``rest`` holds the times of one token. Weights are read once, whatever the batch.
    """
    read, computed = rest["weights read"], rest["weights computed"]
    caches = max(rest["caches read"], rest["caches computed"])
    return f"(max({read!r}, {computed!r} * gpu_rows) + {caches!r} * gpu_rows)"


def _tied(formula: Any, fixed: Mapping[str, float], **signals: str) -> dict[str, str]:
    """Arguments of a formula: signals, and numbers for the rest of what it asks."""
    keep = frozenset(signals) & frozenset(formula.known())
    asked = [leaf.name for leaf in formula.leaves(keep=keep)]
    numbers = {n: f"({float(fixed[n])!r})" for n in asked if n in fixed}
    return numbers | {n: s for n, s in signals.items() if n in asked}
