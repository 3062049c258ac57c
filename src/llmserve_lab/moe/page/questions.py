"""What to predict before reading the chapter on experts, and what to work out after."""

from __future__ import annotations

from collections.abc import Mapping

from llmserve_lab.catalog import Given, accelerator, machine
from llmserve_lab.formula.text import plain, si
from llmserve_lab.moe import formulas as f
from llmserve_lab.moe.models import DEEPSEEK, DEFAULT, EP, KIMI, moe_of, sizes_of
from llmserve_lab.page.question.question import Hint, Question

H100 = machine(accelerator("h100-sxm"))
ROWS, MANY, FEW, HOT = 64.0, 64.0, 16.0, 0.1
TOUCHED = ("about 9", "about 70", "about 220")
SPEC, KIMI_SPEC = moe_of(DEEPSEEK), moe_of(KIMI)


def touched(n_rows: float) -> float:
    """Distinct experts of DeepSeek-V3 that so many rows touch."""
    return float(f.TOUCHED_EXPERTS.at(DEFAULT, n_rows=n_rows))


def _nearest() -> float:
    guesses = [float(text.split()[-1]) for text in TOUCHED]
    return float(min(range(3), key=lambda i: abs(guesses[i] - touched(ROWS))))


def copies_over_sums() -> float:
    """Bytes of EP, a copy for each expert, over those of sliced experts."""
    row = {name: DEFAULT[name] for name in ("d_model", "bytes_act")}
    here = {**row, "n_rows": ROWS, "ep": EP}
    sent = f.EP_BYTES(**here, row_copies=DEFAULT["top_k"])
    return float(sent / f.FFN_TP_BYTES(**here))


def balancedness(hot_share: float) -> float:
    """Balancedness of eight ranks of which one draws a share of all choices."""
    here = {"n_rows": ROWS, "ep": EP, "hot_share": hot_share}
    return float(f.BALANCEDNESS.at(DEFAULT, here))


def _ratio(n_rows: float) -> float:
    return float(f.READ_RATIO.at(DEFAULT, n_rows=n_rows))


def _stored(model: Mapping[str, Given]) -> float:
    return float(f.MOE_PARAMS.at(model))


def _ridge_rows() -> float:
    return float(f.MOE_RIDGE_ROWS.at(DEFAULT, H100))


predict_touched = Question(
    name="moe.predict-touched",
    kind="predict",
    prompt=(
        f"DeepSeek-V3 sends each token to {SPEC.top_k} of {SPEC.n_experts} experts. "
        f"It decodes {ROWS:g} requests at once. How many different experts of a layer "
        "must it read for this one step?"
    ),
    choices=TOUCHED,
    answer=_nearest,
    why=lambda: (
        f"{plain(touched(ROWS))} of them, if tokens choose at random: each token "
        "wants others. The batch reads "
        f"{plain(_ratio(ROWS))} times the bytes of the active parameters."
    ),
    hints=(
        Hint(lambda: 0.0, "That is one token. And the others?"),
        Hint(
            lambda: 1.0,
            "The tokens make twice as many choices as there are experts: few experts "
            "are chosen by none.",
        ),
    ),
)
predict_bytes = Question(
    name="moe.predict-bytes",
    kind="predict",
    prompt=(
        f"{EP:g} GPUs, {SPEC.top_k} experts a token. Slice every expert over all GPUs "
        "and add up with one all-reduce, or house whole experts and send every token "
        "once to each of its experts and back. Which sends more bytes?"
    ),
    choices=("the all-reduce", "neither", "sending tokens"),
    answer=lambda: float(1 + (copies_over_sums() > 1) - (copies_over_sums() < 1)),
    why=lambda: (
        f"The ratio is {plain(copies_over_sums())}: it is k over the number of GPUs. "
        "Expert parallelism wins bytes with more GPUs than experts a token, or by "
        "sending one copy to each GPU instead of one to each expert."
    ),
    hints=(
        Hint(
            lambda: 0.0,
            "It would with fewer experts a token than GPUs.",
        ),
        Hint(
            lambda: 2.0,
            "It would with more experts a token than GPUs.",
        ),
    ),
)
predict_skew = Question(
    name="moe.predict-skew",
    kind="predict",
    prompt=(
        f"One of {EP:g} GPUs holds popular experts: {100 * HOT:g} % of all choices are "
        "drawn to it, the rest is spread evenly over all. All wait for the slowest. "
        "What share of the GPUs' time is put to use?"
    ),
    answer=lambda: balancedness(HOT),
    rel_tol=0.15,
    why=lambda: (
        f"A share of {si(balancedness(HOT))}: the busy GPU has {HOT:g} of all rows on "
        "top of its even part of the rest, and that part is small."
    ),
    hints=(Hint(lambda: 1 - HOT, "By how much is the busy one above the mean?"),),
)
kimi = Question(
    name="moe.kimi",
    prompt=(
        f"{KIMI.name} has {KIMI_SPEC.n_experts} routed experts and "
        f"{KIMI_SPEC.n_shared} shared one in a layer, each a SwiGLU {KIMI_SPEC.d_ff} "
        f"wide, on rows of {KIMI.d_model}. How many parameters does an MoE layer "
        "store, its router included?"
    ),
    answer=lambda: _stored(sizes_of(KIMI)),
    unit="parameter/layer",
    rel_tol=0.01,
    hints=(
        Hint(lambda: _stored(sizes_of(KIMI)) * 2 / 3, "A SwiGLU has three matrices."),
        Hint(lambda: float(f.MOE_ACTIVE.at(sizes_of(KIMI))), "That is one token's."),
    ),
    why=lambda: (
        f"Equation {f.MOE_PARAMS.link}: "
        f"{si(_stored(sizes_of(KIMI)), 'parameter/layer')}."
    ),
)
ridge = Question(
    name="moe.ridge",
    prompt=(
        "How many rows must a batch of DeepSeek-V3 have, before its experts reach the "
        "ridge of an H100 in 16 bits?"
    ),
    answer=_ridge_rows,
    unit="token",
    rel_tol=0.02,
    hints=(
        Hint(
            lambda: _ridge_rows() * SPEC.top_k / SPEC.n_experts,
            "So many each *expert* must get.",
        ),
    ),
    why=lambda: (
        f"Equation [moe_ridge_rows](#eq-moe_ridge_rows): {si(_ridge_rows(), 'token')}."
    ),
)
ratio = Question(
    name="moe.ratio",
    prompt=(
        f"DeepSeek-V3 decodes {FEW:g} requests. How many times the bytes of its active "
        "parameters does an MoE layer read, if tokens choose at random?"
    ),
    answer=lambda: _ratio(FEW),
    rel_tol=0.03,
    hints=(
        Hint(lambda: FEW, "Some experts are chosen twice."),
        Hint(lambda: 1.0, "That is a single token."),
    ),
    why=lambda: f"Equation [read_ratio](#eq-read_ratio): {si(_ratio(FEW))}.",
)
copies = Question(
    name="moe.copies",
    prompt=(
        f"On {MANY:g} GPUs, each token goes once to every GPU that holds one of its "
        f"{SPEC.top_k} experts. On how many GPUs does it arrive, on average?"
    ),
    answer=lambda: float(f.ROW_COPIES.at(DEFAULT, ep=MANY)),
    rel_tol=0.01,
    hints=(Hint(lambda: float(DEFAULT["top_k"]), "Two experts may share a GPU."),),
    why=lambda: (
        f"Equation {f.ROW_COPIES.link}: {si(float(f.ROW_COPIES.at(DEFAULT, ep=MANY)))}."
    ),
)
