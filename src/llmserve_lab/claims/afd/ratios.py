"""The AFD paper, sections 4.3, 4.4 and 5.4: regimes, the theorem, printed ratios."""

from __future__ import annotations

from collections.abc import Callable
from math import isclose

import numpy as np

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.theory.paper_recipe import recipe, with_slot_tokens
from llmserve_lab.claims.afd.setting import (
    ROUNDED,
    baseline,
    exact,
    from_zero,
    mixed,
    over_a_run,
    per_thousand_cycles,
    without_end,
)
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import Number, Statement

GRID = np.geomspace(0.05, 500, 4000)
RUN = "run of 10,000, p = 1/mean"
ZERO = "run of 12,800, means less one"


def at(name: str, **changes: float) -> float:
    """A formula of the chapter in the paper's setting, by its name there."""
    return float(getattr(f, name).at(baseline(), **changes))


def balanced() -> bool:
    """At r_A Attention and FFN take the same time."""
    ffn_s = at("FFN_S", af_ratio=at("RATIO_ATTN"))
    return isclose(ffn_s, at("ATTN_S"), rel_tol=1e-9)


def ffn_bound(ratio: object) -> object:
    """Tokens per second and instance where the FFN is the slowest."""
    ffn_s = f.FFN_S.at(baseline(), af_ratio=ratio)
    return f.INSTANCE_TOKENS_PER_S(af_ratio=ratio, batch=256, cycle_s=ffn_s)


def rises_then_falls() -> bool:
    """The slope changes its sign once, and r_peak lies where it does."""
    rising = np.diff(np.asarray(ffn_bound(GRID))) > 0
    turn = int(np.argmin(rising))
    once = np.count_nonzero(np.diff(rising.astype(int))) == 1
    return bool(once and GRID[turn - 1] <= at("RATIO_PEAK") <= GRID[turn + 1])


def nothing_beats_it() -> bool:
    """A grid over r finds nothing better than the theorem in its own model."""
    best = f.INSTANCE_TOKENS_PER_S.at(baseline(), af_ratio=GRID).max()
    return bool(best <= recipe(baseline()).tokens_per_s * (1 + 1e-9))


def on_the_ffn_line() -> bool:
    """At r* the step takes as long as the FFN, in every setting of section 5."""
    found = (with_slot_tokens(paper_setup.known(batch=b)) for b in (128, 256, 512))
    return all(
        isclose(
            float(f.CYCLE_S.at(known, af_ratio=recipe(known).best)),
            float(f.FFN_S.at(known, af_ratio=recipe(known).best)),
        )
        for known in found
    )


def printed(
    text: str, end: Callable[[], float], name: str, reading: Callable[[], float]
) -> Number:
    """A printed ratio: by the recipe, and by the reading that gives its digits."""
    return Number(text, "dimensionless", end, readings={name: reading})


def of_batch(number: int, text: str, batch: int) -> Claim:
    """One of the three ratios of Figure 6."""
    return mixed(
        id=f"000-{number}",
        section="§5.4",
        says=f"Best ratio at a batch of {batch}, Figure 6",
        parts=(
            printed(
                text,
                lambda: without_end(batch=batch),
                ZERO,
                lambda: from_zero(batch),
            ),
        ),
        why=f"It comes out as {ZERO}; one such reading gives all three.",
    )


NINE = printed("≈ 9.3", without_end, RUN, over_a_run)
CLAIMS = (
    exact(
        id="000-08",
        section="§4.3.1",
        says="At r_A Attention and FFN take the same time",
        parts=(Statement("equation 15", balanced, lambda: f"{at('RATIO_ATTN'):.2f}"),),
        why="The FFN then serves as many requests as Attention takes time for.",
    ),
    exact(
        id="000-09",
        section="§4.3.2",
        says="Communication rarely decides the ratio",
        parts=(
            Statement(
                "r_C below r_A",
                lambda: at("RATIO_COMM") < at("RATIO_ATTN"),
                lambda: f"{at('RATIO_COMM'):.1f} against {at('RATIO_ATTN'):.1f}",
            ),
        ),
        why="It never dominates a step here; it moves the best ratio all the same, "
        "because two batches cannot hide it at balance.",
    ),
    exact(
        id="000-10",
        section="§4.3.3",
        says="FFN-bound throughput rises to r_peak and falls after it",
        parts=(
            Statement(
                "unimodal", rises_then_falls, lambda: f"peak at {at('RATIO_PEAK'):.2f}"
            ),
        ),
        why="Its slope changes the sign once, where r_peak says.",
    ),
    exact(
        id="000-11",
        section="§4.4",
        says="The largest of r_A, r_C and r_peak is the best ratio",
        parts=(
            Statement(
                "theorem 4.4",
                nothing_beats_it,
                lambda: f"{recipe(baseline()).best:.2f}",
            ),
        ),
        why="Of the paper's own objective; the simulated system has another.",
    ),
    mixed(
        id="000-12",
        section="§5.3",
        says="Best ratio of the baseline",
        parts=(NINE,),
        why=f"The recipe as printed gives another; it is the {RUN}.",
    ),
    mixed(
        id="000-13",
        section="§4.4",
        says="The recipe takes the load of a long run, B·(mean prompt + mean answer)",
        parts=(NINE,),
        why="With it the printed ratio of the baseline does not come out.",
    ),
    of_batch(14, "7.08", 128),
    of_batch(15, "9.34", 256),
    of_batch(16, "10.31", 512),
    Claim(
        id="000-17",
        section="§5.4",
        says="Best ratio for prompts and answers of 100 tokens",
        parts=(Number("2.17", "dimensionless", lambda: without_end(answer=100)),),
        verdict=ROUNDED,
        why="It is r_peak, on which the lengths have no influence.",
    ),
    mixed(
        id="000-18",
        section="§5.4",
        says="Best ratio for prompts of 100 and answers of 500 tokens",
        parts=(printed("9.30", without_end, RUN, over_a_run),),
        why=f"It is the {RUN}.",
    ),
    mixed(
        id="000-19",
        section="§5.4",
        says="Best ratio for prompts of 500 and answers of 500 tokens",
        parts=(
            printed(
                "17.25",
                lambda: without_end(prompt=500),
                RUN,
                lambda: over_a_run(prompt=500),
            ),
        ),
        why=f"It is the {RUN}.",
    ),
    mixed(
        id="000-20",
        section="§5.3 and §5.4",
        says="Best ratio of one and the same configuration, printed three times",
        parts=(
            NINE,
            printed("9.34", without_end, ZERO, lambda: from_zero(256)),
            printed("9.30", without_end, RUN, over_a_run),
        ),
        why="Three printed numbers, two unstated choices, and none is the recipe's.",
    ),
    exact(
        id="000-50",
        section="§4.4",
        says="At the best ratio the FFN's time sets the throughput",
        parts=(
            Statement(
                "equation 20",
                on_the_ffn_line,
                lambda: (
                    f"{per_thousand_cycles(recipe(baseline()).tokens_per_s):.1f} "
                    "tokens in 1,000 cycles"
                ),
            ),
        ),
        why="In the paper's model; simulated, the loop takes longer there.",
    ),
)
