"""The chapter's live figures: the hand-over, the ratio of the pools, and the map."""

from __future__ import annotations

from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation.page import charts
from llmserve_lab.disaggregation.page.controls import (
    IN_TIME,
    hardware,
    link_choice,
    sliders,
)
from llmserve_lab.formula.text import si
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.readout import Bound, Readout, Verdict


def sending() -> LiveFigure:
    """Delay of the second token on every link, sent whole or layer by layer."""
    return LiveFigure(
        name="sending",
        title="A link faster than the cache is made hides all but the last layer",
        chart=charts.sending,
        controls=(
            *sliders(prompt_len=4096.0),
            *hardware("Llama-2-7B", layers=True),
            link_choice(),
        ),
        derived={"prefill_s": f.PREFILL_S, "made": f.KV_MADE_PER_S},
        readouts=(
            Readout(f.HANDOFF_BYTES, "To hand over"),
            Readout("prefill_s", "Prefill"),
            Readout("made", "Cache is made at"),
            Readout(f.TRANSFER_S, "Time to send the cache at the end", eff_link=1.0),
            Readout(f.EXPOSED_S, "Sent layer by layer, seen", eff_link=1.0),
            Verdict(
                "hides",
                "The link",
                "made",
                "link_bw",
                ("hides it", "falls behind"),
            ),
        ),
        sentence=(
            "{model} on {accelerator}, a prompt of {prompt_len}: {handoff_bytes} to "
            "hand over, made at {made}. {link} {hides}: {transfer_s} if all is sent at "
            "the end, {exposed_s} of delay if it is sent layer by layer."
        ),
    )


def pool_rates() -> LiveFigure:
    """The rate of every split of sixteen GPUs, memory-bound decode."""
    fleet = {"n_prefill": 1.0, "n_decode": float(charts.FLEET - 1), **charts.FAST}
    return LiveFigure(
        name="pool-rates",
        title="The right split is where two lines cross, and prompts move it",
        chart=charts.pool_rates,
        controls=(
            *sliders(
                IN_TIME,
                prompt_len=2048.0,
                new_tokens=200.0,
                tbt_target=0.025,
                overhead_s=0.0,
                overlap=1.0,
            ),
            *hardware(),
        ),
        derived={
            "one_prefill_rate": Bound(f.PREFILL_RATE, n_prefill=1.0, **charts.FAST),
            "one_decode_rate": Bound(f.DECODE_RATE, n_decode=1.0),
            "best_pools_rate": Bound(f.BEST_POOLS_RATE, **fleet),
        },
        readouts=(
            Readout(f.PREFILL_S, "A prefill"),
            Readout(f.MEAN_CONTEXT, "Mean context of a decode step"),
            Readout(f.TBT_BATCH, "Batch that keeps the target"),
            Readout(f.POOL_RATIO, "Decode GPUs for each prefill GPU"),
            Readout("best_pools_rate", "Sixteen GPUs carry at most"),
        ),
        sentence=(
            "{model} on {accelerator}, prompts of {prompt_len} and answers of "
            "{new_tokens} at {tbt_target} a token: {pool_ratio} decode GPUs for each "
            "that prefills, and a rate of at most {best_pools_rate} on sixteen."
        ),
    )


def when_to_split() -> LiveFigure:
    """Which arrangement takes fewer GPUs, whole ones, at every prompt and load."""
    overhead = {"overhead_s": charts.OVERHEAD_S}
    return LiveFigure(
        name="when-to-split",
        title="Low load, short prompts or a slow link: better one engine",
        chart=charts.when_to_split,
        controls=(
            *sliders(
                IN_TIME,
                prompt_len=8192.0,
                arrival_rate=50.0,
                new_tokens=200.0,
                tbt_target=0.025,
                overlap=0.0,
                link_bw=50e9,
            ),
            *hardware(),
        ),
        derived={each.name: Bound(each, **overhead) for each in charts.GPU_TIMES},
        readouts=(
            Readout(
                f.SHARED_GPUS, "GPUs, one engine on each", shared_gpu_s="shared_gpu_s"
            ),
            Readout(
                f.POOLS_GPUS,
                "GPUs, two pools",
                prefill_gpu_s="prefill_gpu_s",
                decode_gpu_s="decode_gpu_s",
                eff_link=1.0,
            ),
            Verdict(
                "fewer",
                "Better",
                "pools_gpus",
                "shared_gpus",
                ("two pools", "one engine"),
            ),
        ),
        sentence=(
            "{model} on {accelerator}, {arrival_rate} with prompts of {prompt_len} and "
            "answers of {new_tokens} at {tbt_target} a token, links of {link_bw}, "
            f"overlap {{overlap}}, an overhead of {si(charts.OVERHEAD_S, 's')}: "
            "{shared_gpus} GPUs if each serves both phases, {pools_gpus} in two pools; "
            "better {fewer}."
        ),
    )
