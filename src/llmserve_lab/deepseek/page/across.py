"""The measured decodes across nodes, and one way in which their errors decide."""

from __future__ import annotations

from llmserve_lab.deepseek.evaluation import blind_runs, pairs
from llmserve_lab.deepseek.evaluation import worked_example as worked
from llmserve_lab.deepseek.evaluation.bands import DecodeSetting, alike
from llmserve_lab.deepseek.evaluation.decode_scores import Predicted
from llmserve_lab.deepseek.evaluation.group_size import rate_with, squeezed
from llmserve_lab.deepseek.model.setup import setup
from llmserve_lab.deepseek.page.tables import per_cent
from llmserve_lab.formula.text import signed
from llmserve_lab.page.table import Table

CONTEXT, STRICT_S = 4000.0, 0.033
SQUEEZED, SIMULATED, SLOWER, RATES = 1, 2, 3, 4  # numbers of the notes
RUNS = {  # by GPUs in the group and requests on each: what the run is called
    (16, 2): "SGLang",
    (16, 14): "TensorRT-LLM, blind",
    (16, 251): f"TensorRT-LLM, blind [{SQUEEZED}]",
    (72, 128): f"SGLang, drafts simulated [{SIMULATED}]",
    (72, 256): "SGLang, the opening's",
    (96, 480): "Kimi K2",
    (128, 128): f"DeepSeek's profile [{SLOWER}]",
    (144, 88): f"DeepSeek's day [{RATES}]",
}


def notes() -> tuple[str, ...]:
    """What to know of four of the runs; most of all of the one farthest off."""
    far = max(blind_runs.blind(), key=lambda each: _across(each) * each.rate_error)
    tight = squeezed(far)
    return (
        f"its {tight.cache_bytes / 1e9:.1f} GB of caches do not fit in BF16; in FP8, "
        "without redundant experts and SGLang's second copy of U, weights and caches "
        f"fill {per_cent(tight.share)} of the memory",
        "drafts imitated: attention slowed down to its time in DeepSeek's profile",
        "a published trace; an H800 is an H100 with slower NVLink",
        "a day's mean; the requests follow from two published rates if there were no "
        "drafts",
    )


def _across(found: Predicted) -> bool:
    """Whether the group of a worker stood in several nodes."""
    return setup(found.run.accelerator, found.run.ep).n_nodes > 1


def measured() -> list[tuple[DecodeSetting, float]]:
    """The decodes across nodes with the errors of their rates, small groups first."""
    opening = DecodeSetting(
        accelerator=pairs.DEVICE,
        ep=worked.PLACE.n_gpus,
        batch=worked.MANY,
        context=worked.CONTEXT,
    )
    found = [(at, 1 / (1 + error) - 1) for at, error in alike(opening)]
    return sorted(found, key=lambda each: (each[0].ep, each[0].batch))


def runs() -> Table:
    """Every measured decode across nodes, and how far off its rate was predicted."""
    rows = [
        (
            f"{at.ep} {at.name}",
            RUNS[at.ep, round(at.batch)],
            f"{at.batch:.0f}",
            f"{at.context:,.0f}",
            signed(error, 1),
        )
        for at, error in measured()
    ]
    columns = ("GPUs", "run", "requests on each", "context", "error")
    caption = (
        f"The {len(rows)} published decodes across nodes, and the error of the rate"
    )
    return Table(caption, columns, rows, notes())


def fives(*shares: float) -> str:
    """From the least to the largest of some shares, in per cent, to the next five."""
    low, high = (f"{5 * round(20 * end):d}" for end in (min(shares), max(shares)))
    return f"{low} to {high}\N{NO-BREAK SPACE}%"


def lent() -> tuple[float, float]:
    """Errors of two rates that turn the order round: drafts simulated, and Kimi K2."""
    errors = {(at.ep, round(at.batch)): error for at, error in measured()}
    return errors[72, 128], errors[96, 480]


def supposed() -> tuple[float, ...]:
    """Tokens/s of 32 and of 72 GPUs at a strict target, with these two errors."""
    at = {"context": CONTEXT, "tpot_s": STRICT_S}
    return tuple(
        rate_with(pairs.DEVICE, ep, **at, error=1 / (1 + rate_error) - 1)
        for ep, rate_error in zip((32, 72), lent(), strict=True)
    )
