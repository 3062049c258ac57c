"""The same GPUs as one tensor-parallel group, as a pipeline, or as both.

Times are those of the machine as measured servers reach it, with no constant of this
chapter's own: an iteration of the engine, cut by stages, and the hop between them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from llmserve_lab import catalog, running_example
from llmserve_lab.catalog import Accelerator, Link, ModelShape
from llmserve_lab.checks import whole
from llmserve_lab.engine import IterationCost
from llmserve_lab.engine.timing.cost import IterationLoad
from llmserve_lab.parallelism import formulas as f
from llmserve_lab.parallelism.arguments import DEVICE, MODEL, over, sizes_of

NVLINK = catalog.link("nvlink4")


@dataclass(frozen=True, kw_only=True)
class GpuLayout:
    """``tp`` GPUs in each of ``stages`` stages, and the link that joins all of them.

    Raises:
        ValueError: there is no GPU in a stage, no stage, or more stages than layers.
    """

    tp: int = 1
    stages: int = 1
    link: Link = NVLINK
    between: Link | None = None  # stages, where it is another link
    model: ModelShape = MODEL
    device: Accelerator = DEVICE

    def __post_init__(self) -> None:
        whole(tp=self.tp, stages=self.stages)
        if self.stages > self.model.n_layers:
            raise ValueError(
                f"stages must be at most n_layers, {self.model.n_layers}, "
                f"got {self.stages}"
            )

    @property
    def name(self) -> str:
        """How it is written: TP 4, PP 2, or both."""
        parts = [f"TP {self.tp}"] * (self.tp > 1) + [f"PP {self.stages}"] * (
            self.stages > 1
        )
        return " × ".join(parts) or "one GPU"

    def cost(self) -> IterationCost:
        """An iteration of all layers, if the stages' GPUs did them in turn."""
        cost = running_example.served_by(
            self.model, self.device, tp=self.tp, link=self.link
        )
        if self.tp > 1 and self.link.scope != "scale-up":
            # The fitted time of a layer has the latency of a server's own link in it.
            each = float(over(self.link)["link_latency"])
            cost = replace(cost, collective_s=2 * self.model.n_layers * each)
        return cost

    def hop_s(self, rows: int) -> float:
        """Seconds to hand rows to the next stage."""
        if self.stages == 1:
            return 0.0
        link = self.between or self.link
        known = {**sizes_of(self.model), **over(link)}
        return float(f.STAGE_HOP_S.at(known, batch=float(rows), chunk=1.0))

    def decode(self, requests: int, context: int, batches: int | None = None) -> Step:
        """A decode step of so many requests, dealt to ``batches`` in flight.

        Raises:
            ValueError: the batches do not divide the requests.
        """
        batches = batches or self.stages
        whole(requests=requests, batches=batches)
        if requests % batches:
            raise ValueError(
                f"batches must divide the requests, {requests}, got {batches}"
            )
        one = IterationLoad.of(chunk=1, context=context).times(requests // batches)
        cost = self.cost()
        fixed_s = one.requests * cost.request_s
        stage_s = (cost.seconds(one) - fixed_s) / self.stages + fixed_s
        stage_s += self.hop_s(one.rows)
        cache = requests * context * cost.kv_bytes_per_token * cost.kv_copies
        held = (cost.weight_bytes + cache) / (self.stages * self.tp)
        return Step(max(batches, self.stages) * stage_s, requests, held)

    def prefill_rate(self, chunk: int) -> float:
        """Prompt tokens per second when chunk follows chunk through full stages.

        Every chunk is the first of its prompt; a chunk is one microbatch.
        """
        whole(of="token", chunk=chunk)
        stage_s = self.cost().seconds(IterationLoad.of(chunk=chunk)) / self.stages
        return chunk / (stage_s + self.hop_s(chunk))

    def sent_bytes(self, rows: int) -> float:
        """Bytes that leave all GPUs for so many rows, all-reduces and hops."""
        known = {**sizes_of(self.model), "batch": float(rows), "chunk": 1.0}
        reduced = float(f.REDUCED_BYTES.at(known, n_ranks=self.tp))
        return reduced + self.tp * float(f.PIPE_BYTES.at(known, n_stages=self.stages))


@dataclass(frozen=True)
class Step:
    """Seconds from token to token, tokens of all requests in it, bytes of one GPU."""

    token_s: float
    requests: int
    gpu_bytes: float

    @property
    def tokens_per_s(self) -> float:
        """Tokens per second of the whole deployment."""
        return self.requests / self.token_s


SERVER = 4  # GPUs of each of the two servers in which the chapter's eight stand
LAYOUTS = {
    "TP 8": (8, 1),
    "TP 4 × PP 2": (4, 2),
    "TP 2 × PP 4": (2, 4),
    "PP 8": (1, 8),
}


def eight(layout: str, between: Link, model: ModelShape = MODEL) -> GpuLayout:
    """Eight GPUs in two servers of four: a group larger than a server uses the link.

    Raises:
        ValueError: no such layout is offered.
    """
    if layout not in LAYOUTS:
        raise ValueError(f"layout must be one of {', '.join(LAYOUTS)}, got {layout!r}")
    tp, stages = LAYOUTS[layout]
    inside = between if tp > SERVER else NVLINK
    return GpuLayout(tp=tp, stages=stages, link=inside, between=between, model=model)
