"""Numbers in the reasons of answers, and in prompts with options, worked out twice."""

from __future__ import annotations

from llmserve_lab.moe import exchange_time, layer_time, serving
from llmserve_lab.page.question.content import text_of
from llmserve_lab.page.question.question import questions
from tests.page.cells import unsaid

EXPERT, ROWS = 3 * 7168 * 2048, 64


def parts(ep: float) -> tuple[float, float, float]:
    """Experts, sending and the rest of a layer, 128 tokens on each GPU."""
    return (
        layer_time.experts_s(ep, 128.0),
        exchange_time.exchange_s(ep, 128.0),
        layer_time.rest_s(128.0),
    )


def ridge_rows() -> float:
    """Tokens of a group whose experts compute as long as they are read.

    For a token of an expert two FLOPs on each of its parameters, a byte each.
    """
    known = serving.setting()
    reached = float(known["hbm_bw"]) * float(known["eff_mem"])
    peak = float(known["peak_flops"]) * float(known["eff_compute"])
    return peak / reached / 2 * 256 / 8


def test_numbers_of_the_reasons_and_of_the_prompts_with_options() -> None:
    asked = {n: q for n, q in questions().items() if n.startswith("moe.")}
    touched = 256 * (1 - (1 - 8 / 256) ** ROWS)
    own = EXPERT + 7168 * 256  # a shared expert, a router
    ratio = (touched * EXPERT + own) / (8 * EXPERT + own)
    small, large = parts(16.0), parts(64.0)
    start = exchange_time.start_s()
    wire = 0.75 * ROWS * 8 * 2 * 7168 / 50e9
    busy, whole = 0.1 + 0.9 / 8, ridge_rows()
    told: dict[str, tuple[str, tuple[float, ...]]] = {
        "predict-touched": ("# of them…reads # times the bytes", (touched, ratio)),
        "predict-group": (
            "# against #: the experts save #, … takes # more",
            (sum(large), sum(small), small[0] - large[0], large[1] - small[1]),
        ),
        "predict-skew": (
            "gets # and an eighth of the other #, together #, where an even share is "
            "#. The quotient of the two is #.",
            (0.1, 0.9, busy, 1 / 8, 1 / 8 / busy),
        ),
        "sending": (
            "Of # copies # leave the node, which takes #; … it is #.",
            (ROWS * 8, 0.75, wire, wire + start),
        ),
        "ridge": (
            ": # tokens in the whole group. With # on each GPU that takes # GPUs; the "
            "next group that divides # experts has #.",
            (whole, ROWS, -(-whole // ROWS), 256, 128),
        ),
        "least-ep": ("rounded up, #.", (asked["moe.least-ep"].right,)),
    }
    for name, (words, wants) in told.items():
        why = text_of(asked[f"moe.{name}"].why)
        assert unsaid(why, words, *wants) == [], name
    assert {f"moe.{name}" for name in told} == {*asked}
    prompt = text_of(asked["moe.predict-group"].prompt)
    words = "experts of a layer take # (reading), sending #, the rest #."
    assert unsaid(prompt, words, *small) == []
