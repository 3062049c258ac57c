"""The chapter's live figure, and its step figure."""

from __future__ import annotations

from llmserve_lab.kv_memory import formulas as f
from llmserve_lab.kv_memory.page import charts
from llmserve_lab.kv_memory.page.blocks import blocks_stepped
from llmserve_lab.kv_memory.page.controls import ROOM, choices
from llmserve_lab.notation import quantity
from llmserve_lab.page.banded import banded
from llmserve_lab.page.live.controls import Slider
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.readout import Bound, Readout, Verdict
from llmserve_lab.page.step.figure import StepFigure

STOPS = (
    1024.0, 1200.0, 2048.0, 4096.0, 8192.0, 16_384.0, 32_768.0, 65_536.0, 131_072.0
)  # fmt: skip
START = 1200.0  # tokens: prompt and answer of the book's request
READS = ("within the longest context", "beyond the longest context")
WANTED = 64  # requests of 32,768 tokens: what the goal asks for
FAR = 32_768.0


def paged_blocks() -> StepFigure:
    """Blocks taken, shared, copied, freed and evicted."""
    return blocks_stepped()


def capacity() -> LiveFigure:
    """Requests against context for a model on one or several GPUs."""
    tied = {
        name: name
        for name in (
            "cache_bytes", "full_token_bytes", "window_token_bytes", "window",
            "state_bytes", "mean_held",
        )
    }  # fmt: skip
    return LiveFigure(
        name="capacity",
        title="The longer each request, the fewer requests fit; windows stop the fall",
        chart=charts.capacity,
        controls=(
            *choices(),
            Slider(
                quantity("mean_held"), STOPS, START, "Tokens in cache, each request"
            ),
        ),
        derived={
            "batch_fits": Bound(f.REQUESTS_FIT, **tied),
            "other_batch_fits": Bound(
                f.REQUESTS_FIT,
                **{k: v if k == "mean_held" else f"other_{v}" for k, v in tied.items()},
            ),
            "request_cache_bytes": Bound(
                f.REQUEST_CACHE_BYTES,
                **{k: v for k, v in tied.items() if k != "cache_bytes"},
            ),
        },
        readouts=(
            banded(Readout("cache_bytes", "Memory left for the cache"), ROOM),
            Readout("request_cache_bytes", "Cache of one request"),
            banded(Readout("batch_fits", "Requests that fit (few slots)"), ROOM),
            Verdict("reads", "Tokens in cache", "mean_held", "too_long", READS),
        ),
        sentence=(
            "Of the memory {cache_bytes} are left for the cache. A request of "
            "{mean_held} keeps {request_cache_bytes}, so there is room for "
            "{batch_fits} if the server has few slots; only whole ones run."
        ),
        goal=Goal(
            f"let {WANTED} requests of {FAR:,.0f} tokens fit.",
            lambda batch_fits, mean_held: (batch_fits >= WANTED) & (mean_held >= FAR),
            {"gpu": "H200 SXM", "group": "4", "mean_held": FAR},
        ),
    )
