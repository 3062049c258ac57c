"""Arguments that once gave a silent answer, or an error that named nothing."""

import re
from collections.abc import Callable
from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest

from llmserve_lab import catalog, workloads
from llmserve_lab.afd.experiments.paper_setup import law
from llmserve_lab.afd.simulation.bundle import Load
from llmserve_lab.afd.theory.coefficients import layer
from llmserve_lab.capacity import triangle
from llmserve_lab.capacity.loads import arrivals
from llmserve_lab.catalog import Cited
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.collectives import ring_algorithm, ring_trace, run
from llmserve_lab.collectives.ledger import Wire
from llmserve_lab.continuous_batching.arrival_rates import idle_of_geometric
from llmserve_lab.continuous_batching.piggyback import Part
from llmserve_lab.continuous_batching.workloads import crowd
from llmserve_lab.deepseek.executed import mla
from llmserve_lab.deepseek.executed.location import affinities
from llmserve_lab.deepseek.executed.routing import draw
from llmserve_lab.disaggregation.kv_transfer_timeline import hand_over
from llmserve_lab.engine import Continuous, IterationCost, Pool, Request, simulate
from llmserve_lab.engine.arrivals import ClosedLoop
from llmserve_lab.engine.kv_transfer import KVTransfer
from llmserve_lab.engine.speculation import Acceptance, Speculation
from llmserve_lab.engine.timing.load import IterationLoad
from llmserve_lab.formula.text import plain
from llmserve_lab.moe.hot_rank import popularity
from llmserve_lab.moe.placement import balance
from llmserve_lab.moe.routing_sampler import draw as sampled
from llmserve_lab.parallelism.ring_time import first_token_s
from llmserve_lab.quantization import measured as quantized
from llmserve_lab.quantization import outliers
from llmserve_lab.running_example import cost, device, model
from llmserve_lab.speculative.enumeration import law_of_a_pass
from llmserve_lab.transformer import Transformer, generate, tile_reads
from llmserve_lab.transformer.cache import KVCache
from llmserve_lab.transformer.flash_decoding import splits
from llmserve_lab.transformer.paged import PagedKVStore
from llmserve_lab.transformer.rowwise import split_heads
from llmserve_lab.varlen import ranks, rowwise
from llmserve_lab.varlen.tile_counts import places

MOE = MoeFfn(d_ff=4, n_experts=4, n_shared=1, top_k=2, n_dense_layers=0, d_ff_dense=8)
DEEPSEEK, TINY = catalog.model("deepseek-v3"), catalog.model("tiny-512")


def goodput(limit_s: float) -> float:
    """Of one short request."""
    one = [Request(arrival_s=0.0, prompt_len=10, output_len=2, id=0)]
    return simulate(one, Pool(cost(), Continuous())).goodput(tpot_s=limit_s)


def bursty(cv: float) -> float:
    """The first arrival."""
    return next(workloads.bursty(1.0, cv=cv, rng=np.random.default_rng(0)))


Refused = tuple[Callable[[], object], str]
NONSENSE: dict[str, Refused] = {
    "draws without end": (
        lambda: draw(n_rows=64, n_experts=256, top_k=8, n_gpus=8, times=10**30),
        "n_rows × n_experts × times must be at most 1,000,000,000 scores",
    ),
    "a router without end": (
        lambda: affinities(10**7, 256),
        "n_rows must be at most 65,536 rows",
    ),
    "ranks without end": (
        lambda: ring_trace.numbers(10**30),
        "ranks must be at most 4,096 ranks, which are played out one by one",
    ),
    "threads without end": (
        lambda: run(lambda rank: rank.index, num_ranks=10**7),
        "num_ranks must be at most 4,096 ranks",
    ),
    "a prompt without end": (
        lambda: tile_reads(prompt_len=2**63, chunk=1, tile=1),
        "prompt_len must be at most 4,194,304 tokens",
    ),
    "splits without end": (
        lambda: splits(2**63, 2**62),
        "n_keys must be at most 4,194,304 keys",
    ),
    "a crowd without end": (
        lambda: crowd(per_s=1.0, num_requests=2**63),
        "num_requests must be at most 1,000,000 requests",
    ),
    "a cache without end": (
        lambda: KVCache(catalog.model("tiny-512"), capacity_tokens=10**30),
        "capacity_tokens must be at most 4,194,304 tokens",
    ),
    "requests without end": (
        lambda: next(
            workloads.poisson_requests(
                rate_per_s=1.0,
                prompt=workloads.Always(1),
                output=workloads.Always(1),
                num_requests=2**63,
                seed=0,
            )
        ),
        "num_requests must be at most 4,000,000 requests",
    ),
    "engines without end": (
        lambda: Pool(cost(), Continuous(), replicas=10**7),
        "replicas must be at most 4,096 replicas",
    ),
    "layers without end": (
        lambda: hand_over(n_layers=10**9, prefill_s=1.0, transfer_s=1.0, streamed=True),
        "n_layers must be at most 100,000 layers",
    ),
    "batches without end": (
        lambda: idle_of_geometric(10**7),
        "batch must be at most 10,000 requests",
    ),
    "clients without end": (
        lambda: ClosedLoop([], clients=10**30),
        "clients must be at most 1,000,000 clients",
    ),
    "steps of a simulation without end": (
        lambda: Load(law=law(), n_requests=10**30),
        "n_requests must be at most 1,000,000 requests",
    ),
    "arrivals without end": (
        lambda: arrivals(lambda _: 1.0, seconds=1e308, most=10.0, seed=0),
        "most × seconds must be at most 1,000,000 requests, got inf",
    ),
    "tokens without end": (
        lambda: generate(Transformer(TINY), [1], 10**30),
        "num_tokens must be at most 100,000 tokens",
    ),
    "chunks without end": (
        lambda: first_token_s(2**63, 1024, 2),
        "prompt must be at most 10,000 chunks of 2048",
    ),
    "tiles without end": (
        lambda: places([2**63], 128),
        "lengths must be at most 1,000,000 tiles of 128 rows",
    ),
    "outcomes without end": (
        lambda: law_of_a_pass(lambda _: np.ones(2) / 2, lambda _: np.ones(2) / 2, 99),
        "n_draft must be at most 12 drafts",
    ),
    "drafts without end": (
        lambda: Speculation(10**30, Acceptance(0.5)),
        "n_draft must be at most 1,024 drafts",
    ),
    "blocks without end": (
        lambda: PagedKVStore(TINY, num_blocks=2**63, block_tokens=16),
        "num_blocks × block_tokens must be at most 4,194,304 tokens",
    ),
    "scores without end": (
        lambda: sampled([1.0] * 256, n_rows=10**30, top_k=8),
        "n_rows × popularity must be at most 100,000,000 scores",
    ),
    "digits without end": (
        lambda: plain(1.0, 10**30),
        "digits must be at most 60, which",
    ),
    "a law that draws nothing": (
        lambda: workloads.Bounded(law="short", high=9),  # type: ignore[arg-type]
        "law must be a law such as Always(100), got 'short'",
    ),
    "a link that carries nothing": (
        lambda: KVTransfer(bytes_per_s=0),
        "bytes_per_s must be positive, got 0",
    ),
    "rows that are no number": (
        lambda: IterationLoad.of(chunk=nan),  # type: ignore[arg-type]
        "chunk and context must be at least 0 rows, got nan and 0",
    ),
    "a device of no catalog": (
        lambda: catalog.accelerator("h1000"),
        "accelerator must be one of a100-80-sxm",
    ),
    "no number shown": (lambda: plain(nan), "value must be finite"),
    "infinity shown": (lambda: plain(-inf), "value must be finite"),
    "latency below zero": (
        lambda: Wire(latency_s=-1.0, bytes_per_s=1.0),
        "latency_s must be finite and at least 0, got -1.0",
    ),
    "no bandwidth": (
        lambda: Wire(latency_s=0.0, bytes_per_s=0.0),
        "bytes_per_s must be positive, got 0",
    ),
    "ranks below zero": (
        lambda: ring_algorithm.broadcast(8, 0, root=0, num_ranks=-1),
        "num_ranks must be at least 1, got -1",
    ),
    "share below zero": (lambda: popularity(-1), "hot_share must be in [0, 1], got -1"),
    "load below zero": (
        lambda: balance([-1]),
        "loads must be finite and at least 0, got -1.0",
    ),
    "rows of no number": (
        lambda: Part(name="A", rows=nan),  # type: ignore[arg-type]
        "rows must be a whole number, got nan",
    ),
    "seconds of no number": (
        lambda: hand_over(n_layers=2, prefill_s=nan, transfer_s=1, streamed=True),
        "prefill_s must be finite and at least 0, got nan",
    ),
    "experts below zero": (
        lambda: layer(DEEPSEEK, device(), experts_per_card=-1),
        "experts_per_card must be positive, got -1",
    ),
    "experts of no number": (
        lambda: replace(MOE, n_shared=nan),  # type: ignore[arg-type]
        "n_shared must be a whole number, got nan",
    ),
    "attention as text": (
        lambda: replace(model(), attention="abc"),  # type: ignore[arg-type]
        "attention must be of type",
    ),
    "limit of no number": (
        lambda: goodput(nan),
        "tpot_s must be at least 0 s",
    ),
    "row as text": (
        lambda: IterationCost(row_s="x"),  # type: ignore[arg-type]
        "row_s must be of type Real, got 'x'",
    ),
    "no rate": (lambda: crowd(per_s=0), "per_s must be positive, got 0"),
    "no width of a head": (
        lambda: split_heads(np.zeros((2, 4)), 0),
        "d_head must be at least 1, got 0",
    ),
    "bursts without end": (
        lambda: bursty(1e308),
        "cv must be at most 1000",
    ),
    "another form": (
        lambda: mla.execute("x", n_rows=1, context=1),
        "form must be one of vanilla, absorbed, got 'x'",
    ),
    "a bandwidth in FLOP/s": (
        lambda: replace(device(), hbm_bw=Cited(2, "FLOP/s", "datasheet", "a sheet")),
        "hbm_bw must be in byte/s (or a multiple), got FLOP/s",
    ),
    "a target that was not traced": (
        lambda: triangle.goodput(triangle.points(), 0.3, 0.02),
        "ttft_s must be one of 0.2, 0.5, 1.0, 2.0, 5.0, got 0.3",
    ),
    "a batch that was not measured": (
        lambda: quantized.rate_gain("int4", 7),
        "batch must be a key of what is known, got 7",
    ),
    "more outlier columns than columns": (
        lambda: outliers.matrix(num_outliers=513),
        "num_outliers must be at most 512, got 513",
    ),
    "a layer that is not there": (
        lambda: next(rowwise.steps(Transformer(TINY), TINY.n_layers)),
        f"layer must be below {TINY.n_layers}, got {TINY.n_layers}",
    ),
    "a model that is none, on ranks": (
        lambda: ranks.forward_on_ranks(3, [1, 2], [0, 2], num_ranks=2),  # type: ignore
        "model must be of type",
    ),
    "devices below zero": (
        lambda: replace(device(), num_devices=-3),
        "num_devices must be at least 1, got -3",
    ),
}


@pytest.mark.parametrize("call", NONSENSE)
def test_nonsense_is_refused_by_name_rule_and_value(call: str) -> None:
    refused, message = NONSENSE[call]
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        refused()


def test_a_multiple_of_the_unit_is_the_same_device() -> None:
    """A bandwidth in TB/s is not taken as so many bytes a second."""
    known = device()
    told = replace(known, hbm_bw=Cited(3.35, "TB/s", "datasheet", "a sheet"))
    assert float(told.hbm_bw) == pytest.approx(float(known.hbm_bw))
