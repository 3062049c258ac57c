"""What to guess beside each reveal, and what to work out at the end."""

from __future__ import annotations

from math import ceil

from llmserve_lab.catalog.evidence.serving import BLOCK_COUNTS
from llmserve_lab.formula.text import si, signed
from llmserve_lab.how_wrong import formulas as f
from llmserve_lab.how_wrong.factors import risk
from llmserve_lab.how_wrong.page.plan_tables import plan_slack
from llmserve_lab.how_wrong.pairs import pairs, ratios
from llmserve_lab.how_wrong.record import record
from llmserve_lab.how_wrong.wording import per_cent
from llmserve_lab.page.question.question import Hint, Question
from llmserve_lab.validation.cache_blocks import (
    BLOCK_TOKENS,
    UTILISATION,
    PredictedCount,
    predicted,
    room,
)

RISKS = ("about 5 %", "about 20 %", "about half")
SEESAW = (
    "shorter first tokens, and shorter answers",
    "later first tokens, and answers about as quick",
    "later first tokens, and much slower answers",
)
FORGOTTEN = (
    "TPOT's hardly changes, TTFT's grows several times",
    "both grow several times",
    "both hardly change",
)
TWICE, HARDLY = 2.0, 1.1  # times that an error has grown
# Four predictions and measurements in ms: made up, so that they can be worked by hand.
MADE_UP = ((11.0, 10.0), (18.0, 20.0), (12.0, 10.0), (40.0, 40.0))
FORECAST_S, LOW, HIGH = 0.012, -0.20, 0.30
# The made-up server of the same exercise, and what its users ask for.
FIRST_S, ANSWER, CLIENTS, ASKED_PER_S, TP = 0.5, 501, 30, 40_000, 4
YI = 7  # the count that the text works by hand
NEMO = 4  # the server that the exercise asks for, by a share that nobody counted
SHARE = 0.85


def _risk() -> float:
    share = risk("prediction", plan_slack("prediction"))
    return float(share > 0.1) + float(share > 0.35)


def _seesaw() -> float:
    found = ratios(pairs("vllm", "sglang"))
    if found.ttft < 1:
        return 0.0
    return 1.0 if found.e2e < 1.2 else 2.0


def _forgotten() -> float:
    (tpot, ttft, *_), (no_tpot, no_ttft, *_) = list(record()["script"].values())[:2]
    if no_ttft / ttft > TWICE:
        return 1.0 if no_tpot / tpot > HARDLY else 0.0
    return 2.0


def made_up() -> tuple[float, float]:
    """Mean absolute percentage error and bias of the four made-up rows, as shares."""
    errors = [
        float(f.RELATIVE_ERROR(predicted_s=made, measured_s=true))
        for made, true in MADE_UP
    ]
    return sum(map(abs, errors)) / len(errors), sum(errors) / len(errors)


def _longest_s() -> float:
    return float(f.MEASURED_S(predicted_s=FORECAST_S, relative_error=LOW))


def servers(tpot_s: float) -> int:
    """Servers for the made-up demand, if each token takes so long."""
    answer_s = FIRST_S + (ANSWER - 1) * tpot_s
    return ceil(ASKED_PER_S * answer_s / (CLIENTS * ANSWER))


def _gpus(tpot_s: float) -> float:
    return float(TP * servers(tpot_s))


def _count() -> PredictedCount:
    return predicted()[NEMO]


def _blocks(reserved_bytes: float) -> int:
    return room(BLOCK_COUNTS[NEMO]).kv_blocks(
        utilisation=SHARE, block_tokens=BLOCK_TOKENS, reserved_bytes=reserved_bytes
    )


def _told() -> str:
    cost, count = room(BLOCK_COUNTS[NEMO]), _count()
    block_bytes = BLOCK_TOKENS * cost.kv_bytes_per_token
    return (
        f"{count.record.model.name} on {count.record.tp} H100. Each GPU has "
        f"{si(cost.hbm_bytes / cost.n_gpus, 'byte', 5)}, of which vLLM may "
        f"use {per_cent(SHARE, 0)}. The weights take "
        f"{si(cost.weight_bytes, 'byte', 5)} of both together, "
        f"{si(count.reserved_bytes, 'byte', 4)} of each GPU are reserved, "
        f"and a block of {BLOCK_TOKENS} tokens takes {si(block_bytes, 'byte', 6)}. How "
        "many blocks are there?"
    )


predict_risk = Question(
    name="how-wrong.predict-risk",
    kind="predict",
    prompt=(
        "A planner takes the prediction alone: as many clients as keep the promise by "
        "it. Of the measured rows that vLLM served, which share was slower than this "
        "plan allows?"
    ),
    choices=RISKS,
    answer=_risk,
    hints=(
        Hint(lambda: 0.0, "So few are left when a factor is put on top."),
        Hint(lambda: 1.0, "How often is a prediction that leans to no side too short?"),
    ),
    why=(
        "This plan leaves next to no room between the prediction and the promise, and "
        "a prediction is too short about as often as too long."
    ),
)
predict_script = Question(
    name="how-wrong.predict-script",
    kind="predict",
    prompt=(
        "A benchmark draws the lengths of its prompts and answers at random. Suppose "
        "that the simulator forgets this and gives all of them the nominal length. "
        "What happens to the mean errors of the predicted times?"
    ),
    choices=FORGOTTEN,
    answer=_forgotten,
    hints=(
        Hint(lambda: 1.0, "An iteration carries nearly as many tokens as before."),
        Hint(lambda: 2.0, "Think of requests that all start and end together."),
    ),
    why=lambda: (
        "Requests of one length all end together, so that their successors queue for "
        "the first token: the mean error of TTFT grows to "
        f"{per_cent(list(record()['script'].values())[1][1], 0)}. The time of an "
        "iteration hardly depends on it."
    ),
)
predict_seesaw = Question(
    name="how-wrong.predict-seesaw",
    kind="predict",
    prompt=lambda: (
        "Two engines serve the same model on the same GPU to the same clients. In the "
        "median SGLang's time per output token is "
        f"{ratios(pairs('vllm', 'sglang')).tpot:.2f} times vLLM's. Which first tokens "
        "and whole answers go with it in these rows?"
    ),
    choices=SEESAW,
    answer=_seesaw,
    hints=(
        Hint(lambda: 0.0, "One number says little of another: look at all three."),
        Hint(lambda: 2.0, "The sum of work is the same, and so are the clients."),
    ),
    why=lambda: (
        f"The first token takes {ratios(pairs('vllm', 'sglang')).ttft:.1f} times as "
        f"long, the whole answer {ratios(pairs('vllm', 'sglang')).e2e:.2f} times. "
        "Which settings made it so is not published."
    ),
)
mape = Question(
    name="how-wrong.mape",
    prompt=lambda: (
        "Four predictions of a time per output token, in ms, and what was measured: "
        + ", ".join(f"{made:g} for {true:g}" for made, true in MADE_UP)
        + ". What is the mean absolute percentage error? Write 0.2 or 20%, say."
    ),
    answer=lambda: made_up()[0],
    rel_tol=0.02,
    hints=(
        Hint(lambda: made_up()[1], "That is the bias: errors of two signs cancel."),
        Hint(
            lambda: sum(abs(a - b) for a, b in MADE_UP) / sum(b for _, b in MADE_UP),
            "Each row is divided by its own measurement, before the mean is taken.",
        ),
    ),
    why=lambda: (
        "The sizes of the errors are 10 %, 10 %, 20 % and nothing: "
        f"{per_cent(made_up()[0], 0)} in the mean, or {si(made_up()[0])}. The bias is "
        f"{signed(made_up()[1], 0)}."
    ),
)
interval = Question(
    name="how-wrong.interval",
    prompt=lambda: (
        f"A time per output token of {si(FORECAST_S, 's')} is predicted for "
        f"{CLIENTS} clients. On runs like this one 90 % of the errors lie between "
        f"{signed(LOW, 0)} and {signed(HIGH, 0)}. The first token comes after "
        f"{si(FIRST_S, 's')}, an answer has {ANSWER} tokens, a server "
        f"{TP} GPUs, and users ask for {ASKED_PER_S:,} tokens a second. How many GPUs "
        "do you plan, at the end of the band?"
    ),
    answer=lambda: _gpus(_longest_s()),
    rel_tol=0.01,
    hints=(
        Hint(
            lambda: _gpus(FORECAST_S * (1 + HIGH)),
            "The error is a share of the measurement, not of the prediction, and a "
            "prediction that was too short has a negative one.",
        ),
        Hint(
            lambda: _gpus(FORECAST_S * (1 - LOW)),
            "Nearly: but the error is a share of the measurement. Divide by one plus "
            "it, and round the servers up.",
        ),
        Hint(
            lambda: _gpus(FORECAST_S / (1 + HIGH)),
            "That is the shortest: a positive error is a prediction that is too long.",
        ),
        Hint(lambda: float(servers(_longest_s())), "These are servers, not GPUs."),
    ),
    why=lambda: (
        f"The prediction may be 20 % too short: {f.MEASURED_S.link} gives "
        f"{si(_longest_s(), 's')}. With it {servers(_longest_s())} servers are needed, "
        f"{si(_gpus(_longest_s()))} GPUs."
    ),
)
cache_blocks = Question(
    name="how-wrong.blocks",
    prompt=_told,
    answer=lambda: float(_blocks(_count().reserved_bytes)),
    rel_tol=0.01,
    hints=(
        Hint(
            lambda: float(_blocks(0.0)),
            "Each GPU also keeps a reserve for what runs.",
        ),
    ),
    why=lambda: (
        f"What is left of both GPUs, divided by a block: "
        f"{_blocks(_count().reserved_bytes):,}, or about "
        f"{si(float(_blocks(_count().reserved_bytes)))}. With "
        f"{per_cent(UTILISATION, 0)} the "
        f"server printed {float(_count().record.blocks):,.0f}."
    ),
)
