"""What to guess beside each reveal, and what to work out at the end."""

from __future__ import annotations

from llmserve_lab.continuous_batching import formulas as f
from llmserve_lab.continuous_batching.lanes import (
    calm_s,
    longest_gap_s,
    pieces,
    ttft_s,
    under,
    whole,
)
from llmserve_lab.continuous_batching.machine import (
    DECODES,
    LONG,
    TARGET_S,
    calm,
    decodes,
    hidden,
    served,
)
from llmserve_lab.continuous_batching.page.slots import POLICIES
from llmserve_lab.continuous_batching.page.slots import served as run_of
from llmserve_lab.continuous_batching.tuning import again_s, trade
from llmserve_lab.engine import IterationLoad, Policy
from llmserve_lab.formula.text import si
from llmserve_lab.page.question.question import Hint, Question
from llmserve_lab.roofline import formulas as roofline
from llmserve_lab.running_example import PROMPT, cost, setting

BUDGET = 512
ANSWERS = (100, 200, 300, 800)  # tokens, of a static batch
TOO_LONG, FAR = 32_768, 73_728
WAITS = (
    "a few seconds, as before",
    "a few hundred milliseconds",
    "a few tens of milliseconds",
)
FREEZES = ("about 50 ms", "about half a second", "about a second")
SIXTH = 16_384  # tokens: a sixth of the long prompt
PRICES = ("next to nothing", "about a quarter more", "about twice the time")


def late_s(policy: Policy) -> float:
    """Time to first token of C, in the figure of slots."""
    run = run_of(policy)
    return float(run.ttft_s[run.id == 2][0])


def _late() -> float:
    found = late_s(POLICIES["continuous batching"])
    return float(found < 1) + float(found < 0.1)


def sixth_s() -> float:
    """The iteration that reads a sixth of the long prompt in one piece, as a gap."""
    return cost().seconds(calm().plus(IterationLoad.of(chunk=SIXTH)))


def _freeze() -> float:
    return float(sixth_s() > 0.1) + float(sixth_s() > 0.7)


def _added() -> float:
    """The prompt's TTFT under the budget over that in one piece."""
    return ttft_s(under(BUDGET)) / ttft_s(whole())


def _price() -> float:
    return float(_added() > 1.1) + float(_added() > 1.6)


def _idle() -> float:
    mean = sum(ANSWERS) / len(ANSWERS)
    return float(f.IDLE_SLOTS(mean_answer=mean, longest_answer=max(ANSWERS)))


def _long_s() -> float:
    return float(f.PROMPT_COMPUTE_S.at(setting(), prompt_len=TOO_LONG))


def _gap_s() -> float:
    """The whole iteration of that prompt, beside the decodes."""
    return cost().seconds(calm().plus(IterationLoad.of(chunk=TOO_LONG)))


def _flops_per_s() -> float:
    known = setting()
    return float(known["peak_flops"]) * float(known["eff_compute"])


def _said_flops_per_s() -> float:
    """From the share as the page prints it, so that the product closes."""
    known = setting()
    return float(known["peak_flops"]) * round(float(known["eff_compute"]), 4)


def _linear_s() -> float:
    known = setting()
    flops = roofline.LINEAR_FLOPS.at(known, n_rows=float(TOO_LONG))
    return float(flops / _flops_per_s())


def fits(context: float) -> float:
    """Rows of a chunk that keeps the target after a prefix."""
    fitting = f.SERVED_CHUNK_FITS.at(
        setting(), decodes(), **served(), context=context, tbt_target=TARGET_S
    )
    return float(fitting // 1)


predict_late = Question(
    name="continuous-batching.predict-late",
    kind="predict",
    prompt=lambda: (
        "In the static batch C waits "
        f"{si(late_s(POLICIES['static batching']), 's')} for its first token. Now "
        "let the server look at the queue before every iteration. When C arrives, "
        "slot 1 is free. How long does C wait for its first token now?"
    ),
    choices=WAITS,
    answer=_late,
    hints=(
        Hint(lambda: 0.0, "Nothing that C has to wait for takes seconds any more."),
        Hint(lambda: 1.0, "What is left is the running iteration and C's own prefill."),
    ),
    why=lambda: (
        f"{si(late_s(POLICIES['continuous batching']), 's')}: what is left of the "
        f"running iteration, and then one iteration that reads C's {PROMPT:,} tokens."
    ),
)
predict_freeze = Question(
    name="continuous-batching.predict-freeze",
    kind="predict",
    prompt=lambda: (
        f"A prompt of {LONG:,} tokens, read in one piece, stops the stream for "
        f"{si(longest_gap_s(whole()), 's')}. Five requests decode; each gets a token "
        f"every {1e3 * calm_s():.0f} ms or so. Now a prompt of {SIXTH:,} tokens, a "
        "sixth of that, joins their next iteration in one piece. How long until their "
        "next token?"
    ),
    choices=FREEZES,
    answer=_freeze,
    hints=(
        Hint(lambda: 0.0, "The linear layers alone take several times that."),
        Hint(
            lambda: 2.0,
            "A sixth of the time, if it grew with the length alone; but attention "
            "grows with its square.",
        ),
    ),
    why=lambda: (
        f"{si(sixth_s(), 's')}: no request gets a token before the iteration is over. "
        f"Linear layers take a sixth, attention a thirty-sixth of what they take for "
        "the whole of it."
    ),
)
predict_price = Question(
    name="continuous-batching.predict-price",
    kind="predict",
    prompt=lambda: (
        f"Under a budget of {BUDGET} rows each of {len(pieces(under(BUDGET)))} "
        "iterations reads all weights again, and the cache of all tokens before it. "
        f"How much later than in one piece ({si(ttft_s(whole()), 's')}) does the long "
        "prompt's first token come?"
    ),
    choices=PRICES,
    answer=_price,
    hints=(
        Hint(lambda: 0.0, "Some of it is not hidden, and each launch costs time, too."),
        Hint(lambda: 2.0, "Half of the reading happens beside the arithmetic."),
    ),
    why=lambda: (
        f"{si(ttft_s(under(BUDGET)), 's')}, {_added() - 1:.0%} more, if launches are "
        "recorded. The arithmetic takes "
        f"{si(f.PROMPT_COMPUTE_S.at(setting(), prompt_len=LONG), 's')} in any case. "
        f"Reading the weights and the cache again adds {again_s(BUDGET):.1f} s, and "
        "launches add some more. How much is not known well: that alone puts the first "
        f"token anywhere between {trade(BUDGET, hidden()).ttft_s:.1f} s and "
        f"{trade(BUDGET, cost()).ttft_s:.1f} s."
    ),
)
idle = Question(
    name="continuous-batching.idle",
    prompt=(
        f"A static batch of four; the answers have {ANSWERS[0]}, {ANSWERS[1]}, "
        f"{ANSWERS[2]} and {ANSWERS[3]} tokens. Draw the four slots on paper. What "
        "share of the slot-steps is wasted? Write 0.5 or 50%, say."
    ),
    answer=_idle,
    rel_tol=0.01,
    hints=(
        Hint(lambda: 1 - _idle(), "That is the share that is used."),
        Hint(
            lambda: (max(ANSWERS) - min(ANSWERS)) / max(ANSWERS),
            "That is the slot with the shortest answer; take all four.",
        ),
    ),
    why=lambda: (
        f"The batch runs for {max(ANSWERS)} iterations in four slots, "
        f"{4 * max(ANSWERS):,} slot-steps. The answers need {sum(ANSWERS):,} of them: "
        f"{si(_idle())} of them are wasted."
    ),
)
freeze = Question(
    name="continuous-batching.freeze",
    prompt=lambda: (
        f"Estimate by hand how long a prompt of {TOO_LONG:,} tokens, read in one "
        "piece, freezes the others, counting its computing alone. Data: "
        f"{si(roofline.LINEAR_FLOPS.at(setting(), n_rows=1.0), 'FLOP', 4)} for each "
        "row in the linear layers, "
        f"{si(float(setting()['attn_flops_per_pair']), 'FLOP', 4)} for each pair of "
        f"query and key, {si(_said_flops_per_s(), 'FLOP/s', 4)}."
    ),
    answer=_long_s,
    unit="s",
    rel_tol=0.06,
    hints=(
        Hint(_linear_s, "Those are the linear layers; attention comes on top."),
        Hint(
            lambda: 2 * _long_s() - _linear_s(),
            "A row sees only the tokens before it: half of the square.",
        ),
    ),
    why=lambda: (
        f"Linear layers: {TOO_LONG:,} rows, {_linear_s():.3f} s. Attention: half of "
        f"{TOO_LONG:,}² pairs, {_long_s() - _linear_s():.3f} s. Together "
        f"{_long_s():.3f} s, or {si(_long_s(), 's')} to three digits "
        f"({f.PROMPT_COMPUTE_S.link}). With launches, the unhidden "
        f"reading and five decodes beside it the gap is {_gap_s():.3f} s."
    ),
)
chunk_fits = Question(
    name="continuous-batching.chunk-fits",
    prompt=lambda: (
        f"{DECODES} requests decode, with {PROMPT:,} tokens in cache each. "
        f"A long prompt has come {FAR:,} tokens far. How many rows may the next "
        f"chunk have, if the iteration is to take {si(TARGET_S, 's')} at most? Use the "
        "figure or the formula."
    ),
    answer=lambda: fits(FAR),
    unit="token",
    rel_tol=0.03,
    hints=(Hint(lambda: fits(0), "So many fit at the start of the prompt."),),
    why=lambda: (
        "The time that is left beside weights, decodes and the prefix that is read "
        f"again, over the time of a row ({f.SERVED_CHUNK_FITS.link}), rounded down: "
        f"{si(fits(FAR), 'token')}; at the start of the prompt "
        f"{si(fits(0), 'token')} would fit."
    ),
)
