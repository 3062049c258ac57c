"""Pipelines that really ran: their timelines, their bytes, what their stages hold."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

from llmserve_lab.collectives.ledger import Wire
from llmserve_lab.parallelism import formulas as f
from llmserve_lab.parallelism.pipeline import decode_plan, pipelined, prefill_plan
from llmserve_lab.parallelism.rows import sequence_parallel
from llmserve_lab.parallelism.stages import layers_of
from llmserve_lab.parallelism.timeline import Timeline, timeline
from llmserve_lab.transformer import Meter, Transformer, tiny_shape
from tests.counted import Case, counts

FLOAT = 8  # bytes of a number in NumPy
MODEL = Transformer(tiny_shape(n_layers=4, d_model=16, n_heads=2, n_kv_heads=2))


def played(values: dict[str, Any], *, lasts: float = 1.0) -> Timeline:
    """The timeline of a pipeline that ran, one request in each batch."""
    plan = decode_plan([[(1,)]] * values["n_batches"], values["n_turns"])
    done = pipelined(MODEL, plan, values["n_stages"])
    return timeline(done.results, lambda _: lasts)


def sizes(rng: random.Random) -> dict[str, Any]:
    """Stages, batches, passes of each."""
    return {
        "n_stages": rng.randint(1, 4),
        "n_batches": rng.randint(1, 6),
        "n_turns": rng.randint(1, 4),
    }


@counts(f.PIPE_SLOTS, by="executed")
def pipe_slots(rng: random.Random) -> Case:
    values = sizes(rng)
    return Case(values, played(values).makespan)


@counts(f.BUBBLE, by="executed")
def bubble(rng: random.Random) -> Case:
    values = sizes(rng)
    return Case(values, played(values).bubble)


@counts(f.PREFILL_BUBBLE, by="executed")
def prefill_bubble(rng: random.Random) -> Case:
    values = sizes(rng)
    plan = prefill_plan([[(1, 2, 3)]] * values["n_batches"])
    done = pipelined(MODEL, plan, values["n_stages"])
    del values["n_turns"]
    return Case(values, timeline(done.results).bubble)


@counts(f.DECODE_BUBBLE, by="executed")
def decode_bubble(rng: random.Random) -> Case:
    """One round in the middle of the run: what a stage does in it, and how long."""
    values = sizes(rng) | {"n_turns": 4}
    line = played(values)
    first, second = line.finished(0)[1:3]
    last = values["n_stages"] - 1
    done = [s for s in line.spans if s.stage == last and first < s.end <= second]
    del values["n_turns"]
    return Case(values, 1 - len(done) / (second - first))


@counts(f.PIPE_TOKEN_S, by="executed")
def pipe_token_s(rng: random.Random) -> Case:
    values = sizes(rng) | {"n_turns": 3}
    seconds = float(rng.randint(1, 9))
    ends = played(values, lasts=seconds).finished(0)
    given = {name: values[name] for name in ("n_batches", "n_stages")}
    case = step(rng) | given
    stage_s = float(f.STAGE_S.at(case))
    return Case(case, (ends[2] - ends[1]) / seconds * stage_s)


def step(rng: random.Random) -> dict[str, float]:
    """A decode step of a batch on a machine with made-up numbers."""
    names = (
        "params_active params_read bytes_weight peak_flops hbm_bw kv_bytes_per_token "
        "context batch layer_s request_s attn_flops_per_pair"
    )
    values = {name: float(rng.randint(1, 9)) for name in names.split()}
    values |= {"eff_compute": 0.5, "eff_mem": 0.25, "overlap": rng.choice((0.0, 0.5))}
    values |= {"n_layers": rng.randint(1, 9), "n_stages": rng.randint(1, 4)}
    values |= {"link_latency": rng.random(), "bytes_act": 2, "d_model": 8}
    return values | {"link_bw": 100.0, "eff_link": 0.5, "chunk": 1}


@counts(f.STAGE_HOP_S, by="executed")
def stage_hop_s(rng: random.Random) -> Case:
    """The first stage's message, on a link with made-up numbers."""
    n_rows = rng.randint(1, 9)
    plan = prefill_plan([[tuple(range(1, n_rows + 1))]])
    ledger = pipelined(MODEL, plan, 2).ledger
    wire = Wire(latency_s=rng.random(), bytes_per_s=50.0)
    (record,) = ledger.select("send", rank=0)
    values = {
        "link_latency": wire.latency_s,
        "link_bw": 100.0,
        "eff_link": 0.5,
        "bytes_act": FLOAT,
        "d_model": MODEL.shape.d_model,
        "batch": 1,
        "chunk": n_rows,
    }
    return Case(values, wire.seconds(record.wire))


@counts(f.PIPE_LINEAR_S, by="executed")
def linear_s(rng: random.Random) -> Case:
    """Prompts go through a pipeline; one meter reads along on all of its stages."""
    values: dict[str, float] = {key: rng.randint(1, 5) for key in ("batch", "chunk")}
    meter = Meter()
    model: Any = Transformer(MODEL.shape)
    model.block = partial(MODEL.block, run=meter.on())
    model.logits = partial(MODEL.logits, run=meter.on())
    prompts = [[1] * int(values["chunk"])] * int(values["batch"])
    pipelined(model, prefill_plan([prompts]), rng.randint(1, 4))
    values["params_active"] = sum(
        each.params_active for each in MODEL.shape.tensors() if len(each.shape) == 2
    )
    rates = {"peak_flops": 7.0, "eff_compute": 0.5}
    return Case(values | rates, meter.linear_flops / 3.5)


@counts(f.PIPE_PAIRS_S, by="enumerated")
def pairs_s(rng: random.Random) -> Case:
    """Row by row, each with the keys that it sees."""
    batch, chunk, context = (rng.randint(1, 4) for _ in range(3))
    flops = sum(3 * (context + row + 1) for _ in range(batch) for row in range(chunk))
    values: dict[str, float] = {"batch": batch, "chunk": chunk, "context": context}
    values |= {"attn_flops_per_pair": 3.0, "peak_flops": 7.0, "eff_compute": 0.5}
    return Case(values, flops / 3.5)


@counts(f.PASS_S, by="enumerated")
def pass_s(rng: random.Random) -> Case:
    """The longer bill, what of the shorter one is not hidden, the cache, the layers."""
    names = ("linear_s", "weights_s", "pairs_s", "kv_s", "layer_s")
    values = {key: rng.random() for key in names}
    values |= {"overlap": rng.random(), "n_layers": rng.randint(1, 9)}
    short, long = sorted((values["linear_s"], values["weights_s"]))
    total = long + short - short * values["overlap"] + values["kv_s"]
    total += values["pairs_s"]
    for _ in range(int(values["n_layers"])):
        total += values["layer_s"]
    return Case(values, total)


@counts(f.STAGE_S, by="enumerated")
def stage_s(rng: random.Random) -> Case:
    """Layer by layer of one stage, then request by request, then the hop."""
    stages, batch = rng.randint(1, 4), rng.randint(1, 5)
    layers = stages * rng.randint(1, 5)
    values = {"pass_s": rng.random(), "request_s": rng.random()}
    total = sum(values["pass_s"] / layers for _ in layers_of(0, stages, layers))
    total += sum(values["request_s"] for _ in range(batch))
    values |= {"n_stages": stages, "batch": batch, "stage_hop_s": rng.random()}
    return Case(values, total + values["stage_hop_s"])


@counts(f.PIPE_RATE, by="executed")
def pipe_rate(rng: random.Random) -> Case:
    """Tokens that the last stage gave out in the middle of a run, over the time."""
    values = sizes(rng) | {"n_turns": 4}
    batch, seconds = rng.randint(1, 4), rng.random()
    line = played(values)
    ends = line.finished(0)
    last = values["n_stages"] - 1
    done = [s for s in line.spans if s.stage == last and ends[1] < s.end <= ends[2]]
    wanted = len(done) * batch / (ends[2] - ends[1]) / seconds
    given = {"n_batches": values["n_batches"], "batch": batch}
    slots = max(values["n_batches"], values["n_stages"])
    return Case(given | {"pipe_token_s": slots * seconds}, wanted)


@counts(f.PIPE_BYTES, by="executed")
def pipe_bytes(rng: random.Random) -> Case:
    stages, n_rows = rng.randint(1, 4), rng.randint(1, 9)
    plan = prefill_plan([[tuple(range(1, n_rows + 1))]])
    sent = pipelined(MODEL, plan, stages).ledger.sent_bytes()
    return Case(rows(n_rows) | {"n_stages": stages}, sent)


def rows(n_rows: int) -> dict[str, float]:
    """One request of some rows, in numbers of 8 bytes."""
    d_model = MODEL.shape.d_model
    return {"batch": 1, "chunk": n_rows, "bytes_act": FLOAT, "d_model": d_model}


@counts(f.REDUCED_BYTES, by="executed")
def reduced_bytes(rng: random.Random) -> Case:
    """All that leaves the ranks when reduce-scatters and all-gathers take its place."""
    ranks = rng.choice((1, 2))
    n_rows = ranks * rng.randint(1, 4)
    sent = sequence_parallel(MODEL, range(1, n_rows + 1), ranks).ledger.sent_bytes()
    values = rows(n_rows) | {"n_ranks": ranks, "n_layers": MODEL.shape.n_layers}
    return Case(values, sent)


@counts(f.PIPE_SHARE, by="executed")
def pipe_share(rng: random.Random) -> Case:
    n_rows = 2 * rng.randint(1, 4)
    prompt = tuple(range(1, n_rows + 1))
    pipe = pipelined(MODEL, prefill_plan([[prompt]]), 2).ledger.sent_bytes()
    cut = sequence_parallel(MODEL, prompt, 2).ledger.sent_bytes()
    return Case({"n_layers": MODEL.shape.n_layers}, pipe / cut)


@counts(f.STAGE_BYTES, by="enumerated")
def stage_bytes(rng: random.Random) -> Case:
    """Layer by layer: its part of the weights, and of each request's cache."""
    stages = rng.randint(1, 4)
    layers, batches, batch = stages * rng.randint(1, 3), rng.randint(1, 3), 2
    params, context = layers * rng.randint(1, 9), rng.randint(0, 9)
    held = 0.0
    for _ in layers_of(0, stages, layers):
        held += 2 * params / layers
        for _ in range(batches * batch):
            held += context * 6 / layers
    values = {
        "bytes_weight": 2, "params_total": params, "kv_bytes_per_token": 6,
        "context": context, "batch": batch, "n_batches": batches, "n_stages": stages,
    }  # fmt: skip
    return Case(values, held)
