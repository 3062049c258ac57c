"""How many decode GPUs for each prefill GPU: the twin's rates, and the published ones.

A request brings its prompt to a prefill GPU and its answer to a decode GPU. Both pools
are equally busy where the GPUs of each are as the tokens over the tokens per second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llmserve_lab.catalog.evidence.deployments import (
    DAY_INPUT,
    DAY_OUTPUT,
    DEEPSEEK_DECODE,
    DEEPSEEK_PREFILL,
    HIT_SHARE,
    KIMI_DECODE,
    KIMI_PREFILL,
    PREFILL_RATES,
    SGLANG_DECODE,
    Deployment,
)
from llmserve_lab.checks import positive
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation.bands import DecodeSetting, alike
from llmserve_lab.deepseek.evaluation.predictions import Point, point, points
from llmserve_lab.formula.band import Band

ANSWER = 500  # tokens, of SGLang's pools


@dataclass(frozen=True)
class PoolRatio:
    """Decode GPUs for each prefill GPU, for a mean prompt and answer.

    ``prompt`` counts the tokens that are computed, not those found in a cache.
    """

    prefill: Point
    decode: Point
    prompt: float
    answer: float

    @property
    def predicted(self) -> float:
        """At the rates of the twin."""
        return self._at(self.prefill.predicted, self.decode.predicted)

    @property
    def measured(self) -> float:
        """At the rates that were published of the two pools."""
        return self._at(self.prefill.measured, self.decode.measured)

    @property
    def span(self) -> tuple[float, float]:
        """Where it would lie, if both rates err as those of runs alike did."""
        read = prefill_errors()
        wrote = decode_errors(self.decode)
        factors = [(1 + each) / (1 + other) for each in wrote for other in read]
        return self.predicted * min(factors), self.predicted * max(factors)

    @property
    def band(self) -> Band:
        """The same as an error band of the prediction."""
        low, high = self.span
        runs = len(prefill_errors()), len(decode_errors(self.decode))
        return Band(
            self.predicted / high - 1,
            self.predicted / low - 1,
            f"{runs[0]} published prefills, {runs[1]} decodes across nodes",
            sum(runs),
            whole=True,
            truth=True,
        )

    def _at(self, read: float, wrote: float) -> float:
        return (self.answer / wrote) / (self.prompt / read)


def pool_ratio(
    prefill: Deployment, decode: Deployment, *, prompt: float, answer: float
) -> PoolRatio:
    """The ratio of two published pools for a mean prompt and answer.

    Raises:
        ValueError: a length is not positive.
    """
    positive("prompt", prompt)
    positive("answer", answer)
    assumed = book_assumptions()
    both = point(prefill, assumed), point(decode, assumed)
    return PoolRatio(*both, prompt, answer)


def balanced_answer(prefill: Deployment, decode: Deployment) -> tuple[float, float]:
    """Tokens of an answer that keep two published pools equally busy.

    Of their numbers of GPUs, with the prompts that were read: predicted, and measured.
    """
    prompt, has = float(prefill.context), decode.n_gpus / prefill.n_gpus
    one = pool_ratio(prefill, decode, prompt=prompt, answer=1.0)
    return has / one.predicted, has / one.measured


def ratios() -> tuple[PoolRatio, ...]:
    """SGLang's H100s with answers of 500 tokens, Kimi K2's H200s, and DeepSeek's day.

    Kimi K2 with the answer that keeps its 32 and 96 GPUs equally busy, as measured.
    """
    read = PREFILL_RATES[1]
    ours = pool_ratio(read, SGLANG_DECODE, prompt=float(read.context), answer=ANSWER)
    computed = float(DAY_INPUT) * (1 - HIT_SHARE)
    day = pool_ratio(
        DEEPSEEK_PREFILL, DEEPSEEK_DECODE, prompt=computed, answer=float(DAY_OUTPUT)
    )
    prompt, (_, answer) = float(KIMI_PREFILL.context), kimi_answer()
    kimi = pool_ratio(KIMI_PREFILL, KIMI_DECODE, prompt=prompt, answer=answer)
    return ours, kimi, day


def kimi_answer() -> tuple[float, float]:
    """The answer that keeps Kimi K2's 32 and 96 GPUs busy: predicted, measured."""
    return balanced_answer(KIMI_PREFILL, KIMI_DECODE)


def prefill_errors() -> Sequence[float]:
    """Errors of all published rates of prefill."""
    return [p.error for p in points(book_assumptions()) if p.batch is None]


def decode_errors(decode: Point) -> Sequence[float]:
    """Errors of the rates of decode runs alike."""
    place = DecodeSetting(
        accelerator=decode.record.accelerator,
        ep=decode.record.n_gpus,
        batch=float(decode.batch or 0),
        context=float(decode.record.context),
    )
    return [1 / (1 + error) - 1 for _, error in alike(place)]
