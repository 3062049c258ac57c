"""Numbers in the reasons of the answers, worked out once more."""

from __future__ import annotations

from llmserve_lab.page.question.content import text_of
from llmserve_lab.page.question.question import questions
from llmserve_lab.parallelism.deployments import GpuLayout
from tests.page.cells import unsaid
from tests.parallelism.test_each_column import made


def rate(name: str) -> float:
    return made(name).prefill_rate(2048)


def test_numbers_of_the_reasons() -> None:
    every = questions().items()
    found = {n: text_of(q.why) for n, q in every if n.startswith("parallelism.")}
    one, four = (GpuLayout(stages=n).decode(1, 1000, 1).token_s for n in (1, 4))
    parts = [2 * i + 1 for i in range(8)]  # of a triangle, of each eighth
    last, mean = parts[-1], sum(parts) / 8
    bytes_ = (516_096 * 24_000) / (8_289_792 * 4_000)
    told: dict[str, tuple[str, tuple[float, ...]]] = {
        "predict-alone": ("a token takes # times as long", (four / one,)),
        "predict-runs": (
            "eighth of a triangle has # of # … is # of #: # times",
            (last, sum(parts), mean, sum(parts), last / mean),
        ),
        "predict-layout": (
            "all # all-reduces…. # tokens per second, against # for two replicas and # "
            "for PP 8",
            (2 * 80, rate("TP 8"), rate("TP 4 × DP 2"), rate("PP 8")),
        ),
        "bubble": ("three of fifteen ticks, #", (3 / (12 + 3),)),
        "follow-up": (
            "of all # tokens, pass-Q the queries of #: # times",
            (24_000, 4_000, bytes_),
        ),
        "even": ("copy of the cache, # tokens", (7 * 13.4e9 / 192_512,)),
    }
    for name, (words, wants) in told.items():
        assert unsaid(found[f"parallelism.{name}"], words, *wants) == [], name
    assert {f"parallelism.{name}" for name in told} == {*found}
