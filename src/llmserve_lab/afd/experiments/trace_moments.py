"""What three public traces say of prompts and answers, and what a slot then holds.

The moments were counted over every request of the files; where the files lie on a
machine, a test counts them again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from llmserve_lab.afd import formulas as f
from llmserve_lab.catalog import Cited
from llmserve_lab.page.table import Table

AZURE = "Azure LLM inference trace, November 2023 (CC BY 4.0)"
MOONCAKE = "Mooncake conversation trace, its first 4,000 requests (Apache-2.0)"


@dataclass(frozen=True, kw_only=True)
class Moments:
    """Means over a trace, with one step for each token of an answer.

    ``prompt`` and ``steps`` in tokens, ``square`` of the steps and ``product`` of
    prompt and steps in tokens².
    """

    name: str
    file: str
    prompt: Cited
    steps: Cited
    square: Cited
    product: Cited

    def slot_tokens(self) -> float:
        """θ by ``slot_tokens``."""
        return float(
            f.SLOT_TOKENS(
                mean_steps=float(self.steps),
                mean_square_steps=float(self.square),
                mean_prompt_steps=float(self.product),
            )
        )

    def by_means(self) -> float:
        """θ by ``slot_tokens-geometric``: answers geometric, apart from prompts."""
        mean = float(self.prompt), float(self.steps)
        return float(f.SLOT_TOKENS_GEOMETRIC(mean_prompt=mean[0], mean_decode=mean[1]))

    def spread(self) -> float:
        """Standard deviation of the answers over their mean; geometric ones have 1."""
        mean = float(self.steps)
        return float((float(self.square) - mean**2) ** 0.5 / mean)


_mean = partial(Cited, unit="token/request", kind="measured")
_square = partial(Cited, unit="token**2/request**2", kind="measured")

CONVERSATION = Moments(
    name="Azure, conversation",
    file="AzureLLMInferenceTrace_conv.csv",
    prompt=_mean(1154.7, source=AZURE),
    steps=_mean(211.126, source=AZURE),
    square=_square(71099.6, source=AZURE),
    product=_square(223497, source=AZURE),
)
CODE = Moments(
    name="Azure, code",
    file="AzureLLMInferenceTrace_code.csv",
    prompt=_mean(2047.85, source=AZURE),
    steps=_mean(27.8825, source=AZURE),
    square=_square(4360.52, source=AZURE),
    product=_square(57235.3, source=AZURE),
)
KIMI = Moments(
    name="Mooncake, conversation",
    file="mooncake_conversation_first4000.jsonl",
    prompt=_mean(13312.3, source=MOONCAKE),
    steps=_mean(347.08, source=MOONCAKE),
    square=_square(184493, source=MOONCAKE),
    product=_square(5.03621e06, source=MOONCAKE),
)
TRACES: Mapping[str, Moments] = MappingProxyType(
    {each.file: each for each in (CONVERSATION, CODE, KIMI)}
)


def traces_table() -> Table:
    """Table of θ for each trace: by means alone, and from its joint law."""
    rows = []
    for each in TRACES.values():
        theta, guess = each.slot_tokens(), each.by_means()
        cells = (f"{each.spread():.2f}", f"{guess:,.0f}", f"{theta:,.0f}")
        rows.append((each.name, *cells, f"{guess / theta - 1:+.1%}"))
    columns = ("trace", "spread of answers", "by means", "in a slot", "means off by")
    notes = (
        "Spread: standard deviation over mean; geometric answers have 1. "
        "By means: mean prompt plus mean answer.",
    )
    return Table("Tokens in a slot, three services", columns, rows, notes=notes)
