"""What three groups make with the opening's requests, and at twice its speed."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from llmserve_lab.catalog.evidence.deployments import SGLANG_DECODE
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation.bands import DecodeSetting, band
from llmserve_lab.deepseek.evaluation.decisions import balance_of, scattered, twins
from llmserve_lab.deepseek.evaluation.group_size import WAYS, fits_as_served, served
from llmserve_lab.deepseek.evaluation.worked_example import CONTEXT, MANY
from llmserve_lab.deepseek.model.setup import setup
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.deepseek.page.group import between, measured, three_digits
from llmserve_lab.page.table import Table

ASKED = (32, 72, 144)  # GPUs of the groups that the chapter opens with


def fixed_batch(ep: int) -> tuple[float, int, str]:
    """A user's tokens/s, requests that fit on a GPU, its tokens/s with their range."""
    context, found = float(CONTEXT), []
    for way in WAYS:
        assumed = replace(book_assumptions(), overlap=way)
        twin = Twin(setup=setup("h100-sxm", ep), assumptions=assumed)
        n = min(MANY, fits_as_served(twin, context))
        found.append((float(twin.user_tokens_per_s(batch=n, context=context)), n))
    user, batch = max(found, key=prod)
    at = DecodeSetting(accelerator="h100-sxm", ep=ep, batch=batch, context=context)
    made, off = batch * user, band("gpu_tokens_per_s", at)
    return user, batch, f"{three_digits(made)} ({between(made, off)})"


def fixed_scattered(ep: int) -> float:
    """Tokens/s of a GPU with as many requests, if loads of experts scatter."""
    context, made = float(CONTEXT), list[float]()
    for twin in twins(ep, balancedness=balance_of(ep)):
        n = min(MANY, fits_as_served(twin, context))
        made.append(float(twin.gpu_tokens_per_s(batch=n, context=context)))
    return max(made)


def twice_s() -> float:
    """Seconds per token if each user saw twice what the opening run gave."""
    return MANY / (2 * float(SGLANG_DECODE.gpu_tokens_per_s))


def opening() -> Table:
    """The chapter's first question: three groups, as many users, then twice as fast."""
    rows = []
    for ep in ASKED:
        user, batch, made = fixed_batch(ep)
        where = {"context": float(CONTEXT), "tpot_s": twice_s()}
        fast = served("h100-sxm", ep, **where)
        if fast is None:
            raise ValueError(f"ep must keep {twice_s()} s per token, got {ep}")
        twice = f"{three_digits(fast.tokens_per_s)} ({measured(fast)})"
        scatter = three_digits(fixed_scattered(ep))
        twice_scatter = three_digits(scattered("h100-sxm", ep, **where))
        rows.append(
            (f"{ep}", f"{batch}", f"{user:.1f}", made, scatter, twice, twice_scatter)
        )
    twice = "GPU makes at twice the speed"
    columns = (
        "GPUs",
        "requests",
        "user sees",
        "GPU makes",
        "loads scatter",
        twice,
        "twice, loads scatter",
    )
    caption = (
        f"Tokens/s with {MANY} requests on an H100, or as many as fit (in brackets by "
        "the error band); last columns: as many as let each user see twice the "
        "opening's speed"
    )
    return Table(caption, columns, rows)
