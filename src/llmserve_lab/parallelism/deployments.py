"""The same GPUs as one tensor-parallel group, as a pipeline, or as both.

Times are those of the machine as measured servers reach it, with no constant of this
chapter's own: an iteration of the engine, cut by stages, and the hop between them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from llmserve_lab import catalog, running_example
from llmserve_lab.catalog import Accelerator, Link, ModelShape
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.checks import key_of, whole
from llmserve_lab.collectives.calibration import nccl
from llmserve_lab.engine import IterationCost
from llmserve_lab.engine.timing.load import IterationLoad
from llmserve_lab.parallelism import formulas as f
from llmserve_lab.parallelism.arguments import (
    DEVICE,
    MODEL,
    UTILISATION,
    on,
    over,
    sizes_of,
)
from llmserve_lab.validation.room import requests_that_fit

NVLINK = catalog.link("nvlink4")
ENDS = ("embed_tokens", "lm_head")


@dataclass(frozen=True, kw_only=True)
class GpuLayout:
    """``replicas`` of the model, each ``tp`` GPUs in each of ``stages`` stages.

    A tensor-parallel group may span ``servers``; its all-reduces then go inside each
    over ``link``, and between them through ``nics`` ports ``between`` of each server,
    or in one ``flat`` ring of all GPUs. Stages that are not ``level`` have as many
    layers each, and the slowest one, the last, sets the pace of decode.

    Raises:
        ValueError: there is no GPU in a stage, no stage, no replica, no port, more
            stages than layers, a group that cannot be shared out to its servers, or a
            mixture of experts cut over several, whose sending is not counted.
    """

    tp: int = 1
    stages: int = 1
    replicas: int = 1
    link: Link = NVLINK
    between: Link | None = None  # stages and servers, where it is another link
    servers: int = 1
    nics: int = 1
    flat: bool = False
    level: bool = True  # equal stages; else the last one has the LM head on top
    model: ModelShape = MODEL
    device: Accelerator = DEVICE

    def __post_init__(self) -> None:
        whole(tp=self.tp, stages=self.stages, replicas=self.replicas)
        whole(servers=self.servers, nics=self.nics)
        if self.stages > self.model.n_layers:
            raise ValueError(
                f"stages must be at most n_layers, {self.model.n_layers}, "
                f"got {self.stages}"
            )
        if self.tp % self.servers:
            raise ValueError(f"servers must divide tp, {self.tp}, got {self.servers}")
        if self.servers > 1 and isinstance(self.model.ffn, MoeFfn):
            raise ValueError(
                f"model must be dense over several servers, got {self.model.name}"
            )

    @property
    def name(self) -> str:
        """How it is written: TP 4, PP 2, DP 2, or several of them."""
        sizes = {"TP": self.tp, "PP": self.stages, "DP": self.replicas}
        parts = [f"{axis} {size}" for axis, size in sizes.items() if size > 1]
        return " × ".join(parts) or "one GPU"

    def cost(self) -> IterationCost:
        """An iteration of all layers of a replica, if its GPUs did them in turn."""
        cost = running_example.served_by(
            self.model, self.device, tp=self.tp, link=self._joining()
        )
        if self.servers == 1:
            return cost
        one, two = (self.all_reduce_s(rows) for rows in (1, 2))
        calls = 2 * self.model.n_layers
        return replace(
            cost,
            collective_s=calls * (2 * one - two),
            collective_row_s=calls * (two - one),
        )

    def _joining(self) -> Link:
        """A link that joins the whole group; over several servers, the one between."""
        return (self.between or self.link) if self.servers > 1 else self.link

    def held_tokens(self) -> int:
        """Tokens of cache that fit beside the weights, with few requests at a time."""
        cost, room = self.cost(), float(on(self.device)["hbm_bytes"])
        left = self.tp * room - self._fullest_share() * cost.weight_bytes
        left *= self.replicas * self.stages
        return max(0, int(left / (cost.kv_bytes_per_token * cost.kv_copies)))

    def _fullest_share(self) -> float:
        """Part of the weights in the stage that has most: its layers and one end.

        The first stage has the embedding, the last the LM head; a stage with less
        beside its layers has room left that no cache can use.
        """
        if self.level or self.stages == 1:
            return 1 / self.stages
        stored = {each.name: each.params for each in self.model.tensors()}
        ends = [stored.get(name, 0) for name in ENDS]
        layers = sum(stored.values()) - sum(ends)
        return (layers / self.stages + max(ends)) / sum(stored.values())

    def held_requests(self, tokens: int) -> int:
        """Requests of so many tokens that all GPUs hold, with a slot for each."""
        whole(of="token", tokens=tokens)
        cost, gpus = self.cost(), self.stages * self.tp
        weights = self._fullest_share() * cost.weight_bytes / self.tp
        each = tokens * cost.kv_bytes_per_token * cost.kv_copies
        return self.replicas * requests_that_fit(
            UTILISATION * float(self.device.usable_bytes) - weights,
            request_bytes=each / gpus,
            vocab=self.model.vocab,
            n_gpus=gpus,
        )

    def all_reduce_s(self, rows: int) -> float:
        """Seconds of an all-reduce of so many rows over several servers.

        It is NCCL's, whose start and steps were fitted to measured all-reduces; an
        engine's own kernels do not leave a server. In a flat ring every share goes
        round nearly twice, and at most ``2 servers`` of its hops leave a server.
        """
        sizes, inside = sizes_of(self.model), over(self.link)
        port = over(self.between or self.link)
        steps = {name: nccl().known()[name] for name in ("start_s", "link_latency")}
        nbytes = rows * float(sizes["d_model"]) * float(sizes["bytes_act"])
        if self.flat:
            hops, slow = 2 * (self.tp - 1), 2 * self.servers
            steps_s = (hops - slow) * float(steps["link_latency"])
            steps_s += slow * float(port["link_latency"])
            rate = self.nics * float(port["link_bw"]) * float(port["eff_link"])
            sent_s = hops / self.tp * nbytes / rate
            return float(steps["start_s"]) + steps_s + sent_s
        return float(
            f.TWO_LEVEL_S.at(
                {**inside, **steps},
                nic_bw=float(port["link_bw"]) * float(port["eff_link"]),
                nic_latency=port["link_latency"],
                n_servers=float(self.servers),
                server_ranks=float(self.tp // self.servers),
                server_nics=float(self.nics),
                tensor_bytes=nbytes,
            )
        )

    def hop_s(self, rows: int) -> float:
        """Seconds to hand rows to the next stage."""
        if self.stages == 1:
            return 0.0
        link = self.between or self.link
        known = {**sizes_of(self.model), **over(link)}
        return float(f.STAGE_HOP_S.at(known, batch=float(rows), chunk=1.0))

    def decode(self, requests: int, context: int, batches: int | None = None) -> Step:
        """A decode step: requests dealt to replicas, there to ``batches`` in flight.

        Raises:
            ValueError: replicas × batches do not divide the requests.
        """
        batches = batches or self.stages
        whole(requests=requests, batches=batches)
        groups = self.replicas * batches
        if requests % groups:
            what = "replicas × batches" if self.replicas > 1 else "batches"
            raise ValueError(
                f"{what} must divide the requests, {requests}, got {groups}"
            )
        one = IterationLoad.of(chunk=1, context=context).times(requests // groups)
        cost = self.cost()
        stage_s, mean_s = (
            made._slowest(cost).seconds(one) + self.hop_s(one.rows)
            for made in (self, replace(self, level=True))
        )  # a batch goes through all stages; the slowest one serves all batches
        each = requests // self.replicas
        cache = each * context * cost.kv_bytes_per_token * cost.kv_copies
        held = (cost.weight_bytes + cache) / (self.stages * self.tp)
        return Step(max(batches * stage_s, self.stages * mean_s), requests, held)

    def _slowest(self, cost: IterationCost) -> IterationCost:
        """An iteration of one stage: its layers and, in the last of several, the head.

        A prompt's chunk needs the LM head for one row at most, which is not counted.
        """
        active = {each.name: each.params_active for each in self.model.tensors()}
        head = 0 if self.level else active.get("lm_head", 0) / sum(active.values())
        share = 1 / self.stages
        weights = head + (1 - head) * share
        return replace(
            cost,
            row_s=weights * cost.row_s,
            weights_s=weights * cost.weights_s,
            pair_s=share * cost.pair_s,
            kv_token_s=share * cost.kv_token_s,
            overhead_s=share * cost.overhead_s,
            prompt_s=share * cost.prompt_s,
            collective_s=share * cost.collective_s,
            collective_row_s=share * cost.collective_row_s,
        )

    def chunk_s(self, chunk: int, context: int = 0) -> float:
        """Seconds of a prompt's chunk in one stage, the hop to the next included."""
        whole(of="token", chunk=chunk)
        load = IterationLoad.of(chunk=chunk, context=context)
        return self.cost().seconds(load) / self.stages + self.hop_s(chunk)

    def prefill_rate(self, chunk: int) -> float:
        """Prompt tokens per second when chunk follows chunk through full stages.

        Every chunk is the first of its prompt; a chunk is one microbatch.
        """
        return self.replicas * chunk / self.chunk_s(chunk)

    def first_token_s(self, prompt: int, chunk: int) -> float:
        """Seconds from the start of a prompt, alone in its replica, to its first token.

        The chunks follow each other; the last one is the dearest, and goes through all
        stages behind the others.

        Raises:
            ValueError: the chunks do not divide the prompt.
        """
        whole(of="token", chunk=chunk)
        if prompt < chunk or prompt % chunk:
            raise ValueError(f"chunk must divide the prompt, {prompt}, got {chunk}")
        steps = [self.chunk_s(chunk, done) for done in range(0, prompt, chunk)]
        return sum(steps) + (self.stages - 1) * steps[-1]

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
    "TP 8": (8, 1, 1),
    "TP 2 × DP 4": (2, 1, 4),
    "TP 4 × DP 2": (4, 1, 2),
    "TP 4 × PP 2": (4, 2, 1),
    "TP 2 × PP 4": (2, 4, 1),
    "PP 8": (1, 8, 1),
}


def eight(
    layout: str, between: Link, model: ModelShape = MODEL, nics: int = SERVER
) -> GpuLayout:
    """Eight GPUs in two servers of four, joined by ``nics`` ports of each server.

    Over the link of a server all eight stand in one. The last stage has the LM head.

    Raises:
        ValueError: no such layout is offered.
    """
    key_of("layout", layout, LAYOUTS)
    tp, stages, replicas = LAYOUTS[layout]
    apart = tp > SERVER and between.scope != "scale-up"
    return GpuLayout(
        tp=tp,
        stages=stages,
        replicas=replicas,
        between=between,
        servers=tp // SERVER if apart else 1,
        nics=nics,
        level=False,
        model=model,
    )
