"""What to predict before reading the chapter on experts, and what to work out after."""

from __future__ import annotations

import math

from llmserve_lab.catalog import accelerator
from llmserve_lab.formula.text import plain, si
from llmserve_lab.moe import exchange_time, layer_time, serving
from llmserve_lab.moe import formulas as f
from llmserve_lab.moe.models import DEEPSEEK, DEFAULT, EP, KIMI, moe_of
from llmserve_lab.page.question.question import Hint, Question

H200 = accelerator("h200-sxm")
ROWS, HOT, KEPT = 64.0, 0.1, 25e9
SMALL, LARGE = 16.0, 64.0  # groups of GPUs
HALL = 32.0  # GPUs of the exercise on sending
TOUCHED = ("about 9", "about 70", "about 220")
SPEC = moe_of(DEEPSEEK)


def touched(n_rows: float) -> float:
    """Distinct experts of DeepSeek-V3 that so many rows touch."""
    return float(f.TOUCHED_EXPERTS.at(DEFAULT, n_rows=n_rows))


def _nearest() -> float:
    guesses = [float(text.split()[-1]) for text in TOUCHED]
    return float(min(range(3), key=lambda i: abs(guesses[i] - touched(ROWS))))


def balancedness(hot_share: float, ep: float = EP) -> float:
    """Balancedness of ranks of which one draws a share of all choices."""
    here = {"n_rows": ROWS, "ep": ep, "hot_share": hot_share}
    return float(f.BALANCEDNESS.at(DEFAULT, here))


def _ratio(n_rows: float) -> float:
    return float(f.READ_RATIO.at(DEFAULT, n_rows=n_rows))


def _group_rows() -> float:
    return float(f.MOE_RIDGE_ROWS.at(serving.setting()))


def rows_each() -> float:
    """Tokens that an expert needs in an iteration to be compute-bound."""
    return float(f.ROWS_PER_EXPERT.at(DEFAULT, n_rows=_group_rows()))


def _power(least: float) -> int:
    return int(next(g for g in serving.GROUPS if g >= least))


def _experts_s(ep: float) -> float:
    """Reading or computing the experts of a layer, whichever is longer."""
    return max(serving.layer_s(ep).values())


def _slower() -> float:
    """A layer in the large group over one in the small group, in sequence."""
    return layer_time.in_turn_s(LARGE, serving.ROWS) / layer_time.in_turn_s(
        SMALL, serving.ROWS
    )


def kimi_bytes() -> dict[str, float]:
    """Bytes of Kimi's routed experts and of the rest, a byte a parameter."""
    routed = sum(t.params for t in KIMI.tensors() if t.name.startswith("experts."))
    rest = KIMI.params_total - routed
    return {"routed_bytes": float(routed), "replicated_bytes": float(rest)}


def memory_left() -> dict[str, float]:
    """Memory of an H200 for weights and caches, and what the exercise keeps of it."""
    return {"engine_bytes": serving.engine_bytes(H200.key), "reserved_bytes": KEPT}


def _answer_bytes() -> float:
    return serving.copy_bytes()["combine"]


def combine_s() -> float:
    """Seconds of the combine that the exercise asks for."""
    start = exchange_time.start_s()
    return exchange_time.seconds("combine", HALL, gpu_rows=ROWS, start_s=start)


def _combine_all_far_s() -> float:
    copies = ROWS * SPEC.top_k
    wire = copies * _answer_bytes() / float(serving.setting()["far_rate"])
    return wire + exchange_time.start_s()


def _ceiling(number: float) -> float:
    return float(math.ceil(number))


predict_touched = Question(
    name="moe.predict-touched",
    kind="predict",
    prompt=(
        f"DeepSeek-V3 sends each token to {SPEC.top_k} of {SPEC.n_experts} experts. "
        f"It decodes {ROWS:g} requests at once. How many different experts of a layer "
        "must it read for this one iteration?"
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
predict_group = Question(
    name="moe.predict-group",
    kind="predict",
    prompt=lambda: (
        f"{serving.ROWS:.0f} tokens on each H800. On {SMALL:.0f} GPUs the experts of a "
        f"layer take {si(_experts_s(SMALL), 's')} (reading), sending "
        f"{si(exchange_time.exchange_s(SMALL), 's')}, the rest "
        f"{si(layer_time.rest_s(serving.ROWS), 's')}. On {LARGE:.0f} GPUs each reads a "
        "quarter of the experts. How long does a layer take then, part after part?"
    ),
    choices=("about half as long", "about as long as before", "about twice as long"),
    answer=lambda: float(1 + (_slower() > 1.5) - (_slower() < 0.7)),
    why=lambda: (
        f"{si(layer_time.in_turn_s(LARGE, serving.ROWS), 's')} against "
        f"{si(layer_time.in_turn_s(SMALL, serving.ROWS), 's')}: the experts save "
        f"{si(_experts_s(SMALL) - _experts_s(LARGE), 's')}, and since more copies "
        "leave their node, sending takes "
        f"{si(exchange_time.exchange_s(LARGE) - exchange_time.exchange_s(SMALL), 's')} "
        "more."
    ),
    hints=(
        Hint(lambda: 0.0, "Reading does get shorter. And how far must copies travel?"),
        Hint(lambda: 2.0, "No more copies are sent; more of them leave their node."),
    ),
)
predict_skew = Question(
    name="moe.predict-skew",
    kind="predict",
    prompt=(
        f"One of {EP:g} GPUs holds popular experts: {100 * HOT:g} % of all choices "
        f"go to it in any case. The other {100 * (1 - HOT):g} % are spread evenly over "
        f"all {EP:g} GPUs, this one included. The batch is so large that "
        "computing takes longer than reading, and all wait for the slowest. What "
        "share of the GPUs' time is put to use?"
    ),
    answer=lambda: balancedness(HOT),
    rel_tol=0.15,
    why=lambda: (
        f"The busy GPU gets {100 * HOT:g} % and an eighth of the other "
        f"{100 * (1 - HOT):g} %, together {100 * (HOT + (1 - HOT) / EP):.2f} %, where "
        f"an even share is {100 / EP:g} %. The quotient of the two is "
        f"{si(balancedness(HOT))}."
    ),
    hints=(Hint(lambda: 1 - HOT, "By how much is the busy one above the mean?"),),
)
sending = Question(
    name="moe.sending",
    prompt=lambda: (
        f"{HALL:.0f} H800 share DeepSeek-V3's experts, and each brings {ROWS:.0f} "
        f"tokens, {SPEC.top_k} copies of {si(_answer_bytes(), 'byte')} each, to a "
        f"combine. A node has {serving.setting()['node_gpus']:.0f} GPUs, InfiniBand "
        f"{si(float(serving.setting()['far_rate']), 'byte/s')} per GPU, and a transfer "
        f"takes {si(exchange_time.start_s(), 's')} besides. How many microseconds "
        "does the combine take?"
    ),
    answer=lambda: 1e6 * combine_s(),
    unit="µs",
    rel_tol=0.02,
    hints=(
        Hint(
            lambda: 1e6 * (combine_s() - exchange_time.start_s()),
            "And what a transfer takes besides?",
        ),
        Hint(
            lambda: 1e6 * _combine_all_far_s(),
            "Some copies stay in the node, and NVLink carries them meanwhile.",
        ),
    ),
    why=lambda: (
        f"Of {ROWS * SPEC.top_k:.0f} copies {1 - 8 / HALL:.0%} leave the node, which "
        f"takes {si(combine_s() - exchange_time.start_s(), 's')}; with the constant "
        f"it is {si(combine_s(), 's')}."
    ),
)
ridge = Question(
    name="moe.ridge",
    prompt=lambda: (
        f"DeepSeek-V3 in FP8 on H800. An expert needs {rows_each():.0f} tokens in an "
        f"iteration to be compute-bound; a token goes to {SPEC.top_k} of "
        f"{SPEC.n_experts}. Each GPU decodes {ROWS:.0f} requests. How many GPUs must "
        "share the experts at least? (Experts need not divide evenly.)"
    ),
    answer=lambda: _ceiling(_group_rows() / ROWS),
    rel_tol=0.01,
    hints=(
        Hint(
            lambda: rows_each() * SPEC.n_experts / ROWS,
            f"Every token goes to {SPEC.top_k} experts, not to one.",
        ),
        Hint(
            lambda: rows_each() / ROWS,
            "So many would do if all tokens went through one expert.",
        ),
    ),
    why=lambda: (
        f"Equation [moe_ridge_rows](#eq-moe_ridge_rows): {si(_group_rows(), 'token')} "
        f"in the whole group. With {ROWS:.0f} on each GPU that takes "
        f"{_ceiling(_group_rows() / ROWS):.0f} GPUs; the next group that divides "
        f"{SPEC.n_experts} experts has {_power(_group_rows() / ROWS)}."
    ),
)
least_ep = Question(
    name="moe.least-ep",
    prompt=lambda: (
        f"{KIMI.name} in FP8: {si(kimi_bytes()['routed_bytes'], 'byte')} of routed "
        f"experts, {si(kimi_bytes()['replicated_bytes'], 'byte')} of all the rest. Of "
        f"each {H200.name} an engine uses {si(memory_left()['engine_bytes'], 'byte')} "
        f"for weights and caches; keep {si(KEPT, 'byte')} of them for caches. What are "
        "the fewest GPUs that hold it, "
        "experts shared out and the rest replicated? (Experts need not divide evenly.)"
    ),
    answer=lambda: float(f.LEAST_EP(**kimi_bytes(), **memory_left())),
    rel_tol=0.0,
    hints=(
        Hint(
            lambda: _ceiling(
                sum(kimi_bytes().values()) / (memory_left()["engine_bytes"] - KEPT)
            ),
            "The rest is not shared out: every GPU holds it.",
        ),
        Hint(
            lambda: float(
                f.LEAST_EP(**kimi_bytes(), **memory_left() | {"reserved_bytes": 1.0})
            ),
            "Nothing is kept for caches then.",
        ),
    ),
    why=lambda: (
        f"{f.LEAST_EP.link}: the experts over what memory leaves on each GPU, rounded "
        f"up, {float(f.LEAST_EP(**kimi_bytes(), **memory_left())):.0f}."
    ),
)
