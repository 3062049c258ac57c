"""Numbers in the reasons of answers, and in prompts with options, worked out twice."""

from __future__ import annotations

from math import ceil

from llmserve_lab.disaggregation import worked_example as worked
from llmserve_lab.engine import IterationLoad
from llmserve_lab.page.question.content import text_of
from llmserve_lab.page.question.question import questions
from llmserve_lab.running_example import cost
from tests.disaggregation.test_each_column import decode_s, each_s, split
from tests.page.cells import unsaid

TOKEN = 131_072  # bytes of cache
STEP = IterationLoad.of(chunk=1, context=1100).times(40)


def ride_s() -> float:
    """By how much a prompt lengthens a step of forty decodes, by the engine."""
    both = STEP.plus(IterationLoad.of(chunk=1000))
    return cost().seconds(both) - cost().seconds(STEP)


def made(prompt: int) -> float:
    return prompt * TOKEN / cost().seconds(IterationLoad.of(chunk=prompt))


def test_numbers_of_the_reasons_and_of_the_prompts_with_options() -> None:
    every = questions().items()
    asked = {n: q for n, q in every if n.startswith("disaggregation.")}
    whole = {s: max(split(x, s) for x in (1, 2, 3)) for s in (0.01, 0.05)}
    one = {s: worked.shared_rate(s, 1) for s in whole}
    reads, writes = 78 * each_s(1), 78 * decode_s(0.015)
    sent, taken = 4000 * TOKEN, 12 * 0.026
    told: dict[str, tuple[str, tuple[float, ...]]] = {
        "predict-hide": (
            "#/s at 4,000 tokens and #/s at 8,000",
            (made(4000), made(8000)),
        ),
        "predict-ride": ("#: ", (ride_s(),)),
        "predict-promise": (
            "At 10 ms … carries # requests/s, and one engine on each GPU #; at 50 ms "
            "it is # against #.",
            (whole[0.01], one[0.01], whole[0.05], one[0.05]),
        ),
        "handoff": ("# over #/s,…: #.", (sent, 28.3e9, sent / 28.3e9)),
        "sizing": (
            ": # prefill GPUs, so #, and # decode GPUs, so #: # in all",
            (reads, ceil(reads), writes, ceil(writes), ceil(reads) + ceil(writes)),
        ),
        "stretch": (
            "take # of the time, so # are left …: # / # = #,",
            (taken, 1 - taken, 0.015, 1 - taken, 0.015 / (1 - taken)),
        ),
        "token-cost": (": # dollars", (2 / 3600 / 2000 * 1e6,)),
    }
    for name, (words, wants) in told.items():
        why = text_of(asked[f"disaggregation.{name}"].why)
        assert unsaid(why, words, *wants) == [], name
    assert {f"disaggregation.{name}" for name in told} == {*asked}
    prompt = text_of(asked["disaggregation.predict-ride"].prompt)
    words = "decodes # requests … steps of #.…alone it would take #."
    assert unsaid(prompt, words, 40, cost().seconds(STEP), each_s(1)) == []
    prompt = text_of(asked["disaggregation.predict-promise"].prompt)
    assert unsaid(prompt, "every # … to #.", 0.01, 0.05) == []
