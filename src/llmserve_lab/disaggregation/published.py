"""Measured hand-overs and servers, and what the formulas say beside them."""

from __future__ import annotations

from llmserve_lab.catalog.evidence.disaggregated import (
    APART,
    HANDOVER_S,
    MORI_INSTANCES,
    MORI_RATE,
    MORI_REQUESTS,
    MORI_SETTING,
    ON_THE_WIRE_S,
    ORCHESTRATION_S,
    TOGETHER,
)
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation.served import known, load, value
from llmserve_lab.formula.origin import Sourced
from llmserve_lab.formula.text import si
from llmserve_lab.page.table import Table
from llmserve_lab.running_example import ANSWER, PROMPT, device, model

LAYERS = {"n_layers": float(model().n_layers)}
BUSY = 0.5  # share of the time in which a prefill GPU reads
CALM = {"prefill_busy": BUSY}
HERE = f"{model().name} on {device().name}, {PROMPT:,} in, {ANSWER} out"


def stretched_s() -> float:
    """Mean gap of the co-located servers, from the gap and the prefill of the others.

    The shortest time to the first token stands for the time of a prompt: it contains
    the client's share, and no queue.
    """
    rate = float(MORI_RATE) / float(MORI_INSTANCES)
    ride_s = float(TOGETHER.ttft_least_s)
    gap_s = float(APART.gap_s)
    return float(f.SHARED_GAP_S(decode_step_s=gap_s, arrival_rate=rate, ride_s=ride_s))


def error() -> float:
    """How far the predicted gap is off, as a share of the measured one."""
    return stretched_s() / float(TOGETHER.gap_s) - 1


def servers_table() -> Table:
    """Table of two ways to use eight GPUs, as measured, and the predicted gap."""
    total = f"{float(MORI_REQUESTS):.0f}"
    rows = [
        (
            each.name,
            Sourced(si(float(each.gap_s), "s"), each.gap_s),
            said,
            Sourced(si(float(each.ttft_s), "s"), each.ttft_s),
            Sourced(f"{float(each.within):.0f} of {total}", each.within),
        )
        for each, said in (
            (APART, "given"),
            (TOGETHER, f"{si(stretched_s(), 's')} ({error():+.0%})".replace("-", "−")),
        )
    ]
    columns = ("way", "gap, measured", "gap, predicted", "TTFT", "within both limits")
    return Table(MORI_SETTING, columns, rows)


def handover_table() -> Table:
    """Table of TTFT and the gap after it, by the side that emits and the hop."""
    rows = []
    hops = (("wire alone", 0.0), ("as measured", float(ORCHESTRATION_S)))
    for side, emits in (("prefill GPU", 0.0), ("decode GPU", 1.0)):
        for hop, more_s in hops:
            has = known(
                load(), decode_emits=emits, orchestration_s=more_s, **LAYERS, **CALM
            )
            times = (si(value(form, has), "s") for form in (f.TTFT, f.SECOND_GAP_S))
            rows.append((side, hop, *times))
    note = (
        f"As measured: {si(float(HANDOVER_S), 's')} of hand-over in vLLM, of which "
        f"{si(float(ON_THE_WIRE_S), 's')} on the wire; the difference, "
        f"{si(float(ORCHESTRATION_S), 's')}, is added here. {HANDOVER_S.note}."
    )
    columns = ("first token from", "hand-over", "TTFT", "gap before the second token")
    caption = f"{HERE}; prefill GPU busy {BUSY:.0%}, decode batch at 20 ms a token"
    return Table(caption, columns, rows, notes=(note,))


def batch_table() -> Table:
    """Table of the three limits of a decode batch, for a few prompts and promises."""
    rows = []
    for prompt, promise_s in (
        (PROMPT, 0.01),
        (PROMPT, 0.02),
        (PROMPT, 0.05),
        (16 * PROMPT, 0.02),
        (128 * PROMPT, 0.01),
    ):
        has = known(load(prompt, ANSWER, promise_s))
        read, arith, room = (
            value(each, has) for each in (f.TBT_BATCH, f.ARITH_BATCH, f.ROOM_BATCH)
        )
        least = min(read, arith, room)
        names = {read: "reading", arith: "computing", room: "memory"}
        held = f"{int(least):,}, {names[least]}" if least >= 1 else "does not fit"
        limits = (f"{int(each):,}" for each in (read, arith, room))
        rows.append((f"{prompt:,}", si(promise_s, "s"), *limits, held))
    columns = ("prompt", "time per token", "reading", "computing", "memory", "batch")
    what = f"{model().name} on one {device().name}, answers of {ANSWER} tokens"
    caption = f"Most requests in a batch: {what}"
    return Table(caption, columns, rows)


def fabrics_table(*prompts: int) -> Table:
    """Table of links: what they reach, and how long the cache of a prompt takes."""
    from llmserve_lab.catalog import LINKS
    from llmserve_lab.disaggregation.served import wire

    rows = []
    for key in ("nvlink4", "pcie-gen5", "infiniband-ndr", "infiniband-hdr"):
        over = wire(LINKS[key])
        reached = float(over["link_bw"]) * float(over["eff_link"])
        all_known = [known(load(prompt), **LAYERS) | over for prompt in prompts]
        sent = [si(value(f.TRANSFER_S, has), "s") for has in all_known]
        left = si(value(f.EXPOSED_S, all_known[-1]), "s")
        rows.append((LINKS[key].name, si(reached, "byte/s"), *sent, left))
    heads = [f"{prompt:,} tokens" for prompt in prompts]
    caption = f"{model().name} on {device().name}: time to send a cache"
    columns = ("link", "reached", *heads, f"left over of {heads[-1]}")
    return Table(caption, columns, rows)
