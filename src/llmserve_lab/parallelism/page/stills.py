"""What the chapter says of its layouts of eight and of sixteen GPUs, in numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from llmserve_lab import catalog
from llmserve_lab.collectives.calibration import nccl
from llmserve_lab.engine.timing.load import IterationLoad
from llmserve_lab.parallelism import ring_time
from llmserve_lab.parallelism.arguments import DEVICE, MODEL, fast_link, on, over
from llmserve_lab.parallelism.deployments import LAYOUTS, SERVER, GpuLayout, eight
from llmserve_lab.validation.cache_blocks import working_space

BETWEEN = "infiniband-ndr"
REQUESTS, CONTEXT, CHUNK, PROMPT = 64, 1000, 2048, 8192
ONE_PORT, FLAT = "TP 8, one port", "TP 8, flat ring"
SHOWN = tuple(LAYOUTS)
RING = f"CP 2 × TP {SERVER}"


def layout(name: str) -> GpuLayout:
    """One of those shown, two servers joined by 400 Gb/s ports."""
    link = catalog.link(BETWEEN)
    if name == ONE_PORT:
        return eight("TP 8", link, nics=1)
    if name == FLAT:
        return replace(eight("TP 8", link, nics=SERVER), flat=True)
    return eight(name, link, nics=SERVER)


def decode_ms(name: str, requests: int = REQUESTS) -> float:
    """Milliseconds from token to token."""
    return 1e3 * layout(name).decode(requests, CONTEXT).token_s


def prefill_rate(name: str) -> float:
    """Prompt tokens per second."""
    return layout(name).prefill_rate(CHUNK)


def one_batch_ms(name: str) -> float:
    """Milliseconds from token to token with all requests of a replica in one batch."""
    return 1e3 * layout(name).decode(REQUESTS, CONTEXT, 1).token_s


def first_ms(name: str) -> float:
    """Milliseconds until the first token of one prompt, nothing else running."""
    if name == RING:
        return 1e3 * ring_time.first_token_s(PROMPT, CHUNK, 2).seconds
    return 1e3 * layout(name).first_token_s(PROMPT, CHUNK)


def two_of_eight(name: str) -> GpuLayout:
    """Llama-3.1-405B, which no server of eight H100 has room for, on two of them."""
    tp, stages = {"TP 16": (16, 1), "TP 8 × PP 2": (8, 2)}[name]
    return GpuLayout(
        tp=tp,
        stages=stages,
        between=catalog.link(BETWEEN),
        servers=max(1, tp // 8),
        nics=8,
        level=False,
        model=catalog.model("llama-3.1-405b"),
    )


@dataclass(frozen=True)
class ChunkParts:
    """Seconds of a chunk: what a group divides, what it does not, and its sending."""

    divided_s: float
    fixed_s: float
    sent_s: float

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.divided_s + self.fixed_s + self.sent_s


def chunk_parts(name: str) -> ChunkParts:
    """A chunk of the picture's prompts, read by a group without stages."""
    cost, load = layout(name).cost(), IterationLoad.of(chunk=CHUNK, context=0)
    sent_s = cost.collective_s + CHUNK * cost.collective_row_s
    fixed_s = cost.overhead_s + cost.prompt_s + cost.request_s
    return ChunkParts(cost.seconds(load) - fixed_s - sent_s, fixed_s, sent_s)


def panel_ms(name: str, column: str) -> float:
    """Milliseconds of the picture: a token, a thousand prompt tokens, or a prompt."""
    if column == "decode":
        return decode_ms(name)
    return first_ms(name) if column == "first" else 1e6 / prefill_rate(name)


def one_slow_border_ms() -> float:
    """The first token of PP 8, with a slow hop only where a row leaves a server.

    Three chunks go from stage 1 to stage 2, and the last one passes seven borders.
    """
    slow = layout("PP 8")
    slow_s, fast_s = (
        each.hop_s(CHUNK) for each in (slow, replace(slow, between=slow.link))
    )
    charged = PROMPT // CHUNK + slow.stages - 1
    hops_s = (charged - 2) * fast_s + slow_s
    return first_ms("PP 8") - 1e3 * (charged * slow_s - hops_s)


def big_numbers() -> dict[str, Any]:
    """What the page says of the model that does not fit into one server."""
    said: dict[str, Any] = {}
    for word, name in (("tp", "TP 16"), ("pp", "TP 8 × PP 2")):
        made = two_of_eight(name)
        said |= {
            f"big_ms_{word}": f"{1e3 * made.decode(REQUESTS, CONTEXT).token_s:.1f} ms",
            f"big_rate_{word}": f"{made.prefill_rate(CHUNK):,.0f}",
            f"big_first_{word}": f"{made.first_token_s(PROMPT, CHUNK):.2f} s",
            f"big_hold_{word}": f"{round(made.held_tokens(), -3):,.0f}",
        }
        for load, requests in (("few", 8), ("many", 256)):
            seconds = made.decode(requests, CONTEXT).token_s
            said[f"big_{load}_{word}"] = f"{1e3 * seconds:.1f} ms"
    rates = (two_of_eight(n).prefill_rate(CHUNK) for n in ("TP 8 × PP 2", "TP 16"))
    pipe_rate, group_rate = rates
    said["big_ratio"] = f"{pipe_rate / group_rate:.1f}"
    flat = replace(two_of_eight("TP 16"), flat=True).decode(REQUESTS, CONTEXT)
    said["big_ms_flat"] = f"{1e3 * flat.token_s:.1f} ms"
    cost = two_of_eight("TP 16").cost()
    return said | {"big_weights_gpu": (cost.weight_bytes / 16, "byte")}


def about_s(tp: int, requests: int) -> float:
    """A token's time by hand: reading, layers, requests; the rest is left out."""
    cost = GpuLayout(tp=tp).cost()
    nbytes = cost.weight_bytes + requests * CONTEXT * cost.kv_bytes_per_token
    return nbytes / (tp * read_rate()) + cost.overhead_s + requests * cost.request_s


def read_rate() -> float:
    """Bytes of caches and weights that one GPU reads in a second."""
    cost = GpuLayout().cost()
    return cost.kv_bytes_per_token / cost.kv_token_s


def one_server() -> dict[str, Any]:
    """What the page says of groups that stay in a server."""
    said: dict[str, Any] = {}
    for word, tp in (("two", 2), ("four", 4)):
        made = GpuLayout(tp=tp, replicas=8 // tp)
        about = about_s(tp, REQUESTS // made.replicas)
        said |= {
            f"in_{word}": f"{1e3 * made.decode(REQUESTS, CONTEXT).token_s:.1f} ms",
            f"about_{word}": f"{1e3 * about:.1f} ms",
        }
    pair = GpuLayout(tp=2)
    left = 2 * float(on(DEVICE)["hbm_bytes"]) - pair.cost().weight_bytes
    return said | {
        "in_two_left": (left, "byte"),
        "in_two_tokens": f"{round(pair.held_tokens(), -2):,}",
        "in_two_needs": f"{REQUESTS * CONTEXT // 4:,}",
        "read_rate": f"{read_rate() / 1e12:.2f} TB/s",
        "paid_twice": f"{2e3 * MODEL.n_layers * in_server_start_s():.1f} ms",
    }


def in_server_start_s() -> float:
    """Start and steps of NCCL's two rings in a server of four, without their bytes."""
    start_s, hop_s = (float(nccl().known()[n]) for n in ("start_s", "link_latency"))
    return start_s + 2 * (SERVER - 1) * hop_s


def numbers() -> dict[str, Any]:
    """What the page's text says of the layouts, by the names that it says it with."""
    ms, rate, first = decode_ms, prefill_rate, first_ms
    dp, pp, one_port = "TP 4 × DP 2", "TP 4 × PP 2", ONE_PORT
    room = float(on(DEVICE)["hbm_bytes"])
    weights_dp, weights_tp = (
        layout(name).cost().weight_bytes / layout(name).tp for name in (dp, "TP 8")
    )
    port, bandwidth = over(catalog.link(BETWEEN)), on(DEVICE)["hbm_bw"]
    reduce = {name: layout(name).all_reduce_s for name in ("TP 8", one_port)}
    even = replace(layout("PP 8"), level=True)
    faster = replace(layout("TP 8"), between=fast_link())
    full = layout(dp).held_requests(CONTEXT) // 8 * 8
    return dict(
        full_requests=f"{round(full, -1):,}",
        behind=f"{ms(pp) / ms(dp) - 1:.0%}",
        behind_full=f"{ms(pp, full) / ms(dp, full) - 1:.0%}",
        each_request=f"{1e6 * layout(dp).cost().request_s:.0f} µs",
        gbits="400 Gb/s",
        ms_tp=f"{ms('TP 8'):.1f} ms",
        ms_port=f"{ms(one_port):.1f} ms",
        ms_dp=f"{ms(dp):.1f} ms",
        ms_mix=f"{ms(pp):.1f} ms",
        ms_pp=f"{ms('PP 8'):.1f} ms",
        ms_flat=f"{ms(FLAT):.1f} ms",
        read_once=f"{1e3 * 2 * MODEL.params_total / float(bandwidth):.0f} ms",
        bandwidth=f"{float(bandwidth) / 1e12:.2f} TB/s",
        working=f"{working_space() / 1e9:.2f} GB",
        ms_tp_many=f"{ms('TP 8', 256):.1f} ms",
        ms_dp_many=f"{ms(dp, 256):.1f} ms",
        few_requests="eight",
        many_requests="256",
        rate_tp=f"{rate('TP 8'):,.0f}",
        rate_port=f"{rate(one_port):,.0f}",
        rate_dp=f"{rate(dp):,.0f}",
        rate_mix=f"{rate(pp):,.0f}",
        rate_pp=f"{rate('PP 8'):,.0f}",
        first_tp=f"{first('TP 8'):.0f} ms",
        first_dp=f"{first(dp):.0f} ms",
        first_mix=f"{first(pp):.0f} ms",
        first_pp=f"{first('PP 8'):.0f} ms",
        sixty_four=f"{REQUESTS}",
        two_k=f"{CHUNK:,}",
        eight_k=f"{PROMPT:,}",
        over_tp=f"{rate('PP 8') / rate('TP 8'):.1f}",
        over_port=f"{rate('PP 8') / rate(one_port):.1f}",
        reduce_all=f"{1e3 * reduce['TP 8'](CHUNK):.2f} ms",
        reduce_one=f"{1e3 * reduce[one_port](CHUNK):.2f} ms",
        inside_steps=f"{1e6 * in_server_start_s():.1f} µs",
        reduce_few=f"{1e6 * reduce['TP 8'](REQUESTS):.0f} µs",
        weights_dp=(weights_dp, "byte"),
        weights_tp=(weights_tp, "byte"),
        hold_dp=f"{round(layout(dp).held_tokens(), -3):,.0f}",
        hold_tp=f"{round(layout('TP 8').held_tokens(), -3):,.0f}",
        room=f"{room / 1e9:.2f} GB",
        reported=f"{float(DEVICE.usable_bytes) / 1e9:.2f} GB",
        one_mix=f"{one_batch_ms(pp):.1f} ms",
        first_ring=f"{first(RING):.0f} ms",
        pp_even=f"{1e3 * even.decode(REQUESTS, CONTEXT).token_s:.1f} ms",
        rate_faster=f"{faster.prefill_rate(CHUNK) / rate('TP 8') - 1:.0%}",
        calls=f"{2 * MODEL.n_layers}",
        ib_latency=f"{1e6 * float(port['link_latency']):.1f} µs",
        link_share=f"{float(port['eff_link']):.0%}",
    )
