"""Defects that tests of logic once missed, or that stored outputs alone had seen.

Each names the test that must see it. The first eleven stood together in one tree, its
outputs made anew; the others had been seen by nothing, or by a stored note alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from planted.defect import Defect

KIND = "known"
PACKAGE = "src/llmserve_lab"
ROOFLINE = f"{PACKAGE}/roofline/page"
AFD = f"{PACKAGE}/afd/page"
CHARTS = "tests/page/test_charts.py"
SOURCE = "tests/page/test_chart_source.py"
BINDINGS = "tests/page/test_bindings.py"
HINTS = "tests/page/test_hints.py"
WORDING = "tests/page/test_wording.py"


@dataclass(frozen=True)
class Known:
    """A change of a file, and the test file that must turn red."""

    file: str
    before: str
    after: str
    net: str


TOGETHER = (
    Known(
        f"{ROOFLINE}/charts.py",
        'q.weights_s, MEANINGS["weights"]',
        'q.weights_s, MEANINGS["cache"]',
        CHARTS,
    ),
    Known(
        f"{PACKAGE}/page/palette.py",
        '"weights": BLUE,\n    "cache": GREEN,',
        '"weights": GREEN,\n    "cache": BLUE,',
        CHARTS,
    ),
    Known(
        f"{ROOFLINE}/charts.py",
        "Case(p, p, ink) for p",
        'Case(p, "decode" if p == "prefill" else "prefill", ink) for p',
        CHARTS,
    ),
    Known(
        f"{ROOFLINE}/charts.py",
        "INTENSITY = QuantityAxis(\n    q.intensity,\n",
        'INTENSITY = QuantityAxis(\n    q.intensity,\n    "byte/FLOP",\n',
        CHARTS,
    ),
    Known(
        f"{ROOFLINE}/charts.py",
        'x=TIME.on("x", "start")',
        'x=TIME.on("x", "start").title("time of an iteration (s)")',
        SOURCE,
    ),
    Known(
        f"{AFD}/charts.py",
        'BoundMark("Attention", q.attn_s), BoundMark("wire", q.comm_s)',
        'BoundMark("wire", q.attn_s), BoundMark("Attention", q.comm_s)',
        CHARTS,
    ),
    Known(
        f"{PACKAGE}/catalog/data/links.py",
        '"NVIDIA H100 Tensor Core GPU Architecture',
        '"NVIDIA A100 Tensor Core GPU Architecture',
        "tests/catalog/test_sources.py",
    ),
    Known(
        f"{ROOFLINE}/questions.py",
        "That is one layer.",
        "That counts both directions.",
        HINTS,
    ),
    Known(
        f"{PACKAGE}/deepseek/page/questions.py",
        "What takes longest in a step?",
        "What takes shortest in a step?",
        HINTS,
    ),
    Known(
        f"{ROOFLINE}/figures.py",
        'measured_s="prefill_iteration_s"',
        'measured_s="decode_iteration_s"',
        BINDINGS,
    ),
    Known(f"{ROOFLINE}/figures.py", '"Read the weights"', '"Read the cache"', WORDING),
)
UNSEEN = (
    Known(
        f"{PACKAGE}/engine/metrics/utilization.py",
        "kv_tokens=sum(",
        "kv_tokens=max(",
        "tests/engine/test_laws.py",
    ),
    Known(
        f"{PACKAGE}/engine/scheduler/prefix_cache.py",
        "self._held.move_to_end(name)\n            blocks",
        "blocks",
        "tests/engine/test_prefixes.py",
    ),
    Known(
        f"{PACKAGE}/collectives/ledger.py",
        '"one way"',
        '"both ways"',
        "tests/collectives/test_ledger.py",
    ),
    Known(
        f"{PACKAGE}/collectives/ring_algorithm.py",
        "if place > 0 else 0,\n        steps=num_ranks - 1,",
        "if place > 0 else 0,\n        steps=num_ranks,",
        "tests/collectives/test_ledger.py",
    ),
    Known(
        "assets/tables.js", '"Mi":1048576', '"Mi":2097152', "tests/page/test_browser.py"
    ),
    Known(
        "assets/live.js",
        "width !== this.view.width()",
        "width < this.view.width()",
        "tests/page/test_fit.py",
    ),
    Known(
        f"{PACKAGE}/page/predicted/predictors.py",
        '    f"{_TWIN}.step_model.Twin.blocks_of": "the parts of that step",\n',
        "",
        "tests/page/test_predicted.py",
    ),
    Known(
        f"{PACKAGE}/page/number_record.py",
        "if predicted and band is None:",
        "if predicted and band is not None:",
        "tests/page/test_predicted.py",
    ),
    Known(
        f"{PACKAGE}/disaggregation/page/router.py",
        "'NVLink' if link == NEAR else 'InfiniBand'",
        "'InfiniBand' if link == NEAR else 'NVLink'",
        "tests/page/test_lanes.py",
    ),
    Known(
        f"{PACKAGE}/deepseek/page/latent.py",
        "(name, flops) in enumerate(zip(NAMES.values(), runs,",
        "(name, flops) in enumerate(zip([*NAMES.values()][::-1], runs,",
        "tests/page/test_counters.py",
    ),
    Known(
        f"{AFD}/explore.py",
        "datum.a + 'A–' + ({GPUS} - datum.a) + 'F'",
        "({GPUS} - datum.a) + 'A–' + datum.a + 'F'",
        "tests/page/test_chart_numbers.py",
    ),
    Known(
        f"{PACKAGE}/quantization/page/steps.py",
        "again - group\n",
        "group - again\n",
        "tests/page/test_legends.py",
    ),
    Known(
        f"{PACKAGE}/parallelism/page/ring_steps.py",
        '"text": f"KV {_names(steps[frame - 1].block)}"',
        '"text": f"KV {_names(steps[frame].block)}"',
        "tests/page/test_arrows.py",
    ),
    Known(
        "chapters/tensor_parallel.ipynb",
        r"1e6 * times[\"one_shot_s\"], 1e6 * times[\"two_shot_s\"]",
        r"1e6 * times[\"two_shot_s\"], 1e6 * times[\"one_shot_s\"]",
        "tests/page/test_printed_lines.py",
    ),
    Known(
        f"{PACKAGE}/continuous_batching/page/charts.py",
        "bare, after = SERVED.items()",
        "after, bare = SERVED.items()",
        "tests/page/test_moves.py",
    ),
    Known(
        f"{PACKAGE}/varlen/page/stills.py",
        '"measured": (1500, 1.25, BLUE)',
        '"measured": (1500, 1.25, VERMILLION)',
        "tests/page/test_measured.py",
    ),
    Known(
        f"{PACKAGE}/kv_memory/page/charts.py",
        "'.0f') + ' GB'",
        "'.0f') + ' GiB'",
        "tests/page/test_drawn.py",
    ),
    Known(
        f"{PACKAGE}/symptoms/page/pause.py",
        'step="pre"',
        'step="post"',
        "tests/symptoms/test_pause.py",
    ),
    Known(
        f"{PACKAGE}/symptoms/page/promql.py",
        '("ITL, P99", "histogram", Quantile(P99',
        '("ITL, P99", "histogram", Quantile(P50',
        "tests/symptoms/test_panels.py",
    ),
    Known(
        f"{AFD}/tables.py",
        '"gain", "split", "group"',
        '"gain", "group", "split"',
        "tests/page/test_called.py",
    ),
    Known(
        f"{PACKAGE}/continuous_batching/page/blocks.py",
        '("free blocks"),\n            Counter("requests waiting")',
        '("requests waiting"),\n            Counter("free blocks")',
        "tests/page/test_called.py",
    ),
    Known(
        f"{PACKAGE}/page/live/bands.py",
        "control.options[int(signal)]",
        "control.options[int(signal) - 1]",
        "tests/page/test_bands.py",
    ),
    Known(
        f"{PACKAGE}/quantization/page/figures.py",
        'kv_bytes_per_token=f"{prefix}kv_bytes_per_token",\n        ),\n    }',
        'kv_bytes_per_token="kv_bytes_per_token",\n        ),\n    }',
        "tests/quantization/test_figures.py",
    ),
    Known(
        f"{PACKAGE}/end_to_end/page/rows.py",
        '"the row that looks", "cache": "rows that it may look at"',
        '"rows that it may look at", "cache": "the row that looks"',
        "tests/page/test_step_legends.py",
    ),
    Known(
        f"{PACKAGE}/disaggregation/page/pools.py",
        '("layers of A computed"),\n            Counter("layers of A arrived")',
        '("layers of A arrived"),\n            Counter("layers of A computed")',
        "tests/page/test_counters.py",
    ),
    Known(
        f"{PACKAGE}/kv_memory/page/pictures.py",
        "(row, here) == (entry, place)",
        "(row, here + 1) == (entry, place)",
        "tests/kv_memory/test_pictures.py",
    ),
    Known(
        f"{PACKAGE}/moe/page/overlap.py",
        'set_yticks([1, 0], ["GPU 0", "GPU 1"])',
        'set_yticks([0, 1], ["GPU 0", "GPU 1"])',
        "tests/moe/test_figures.py",
    ),
    Known(
        f"{ROOFLINE}/charts.py",
        "(datum.phase == 'decode' && {FULL})",
        "(datum.phase == 'prefill' && {FULL})",
        "tests/roofline/test_time_figures.py",
    ),
    Known(
        f"{PACKAGE}/disaggregation/page/router.py",
        "mean_s = mean_delay_s(router, num_requests=RUN)",
        "mean_s = mean_delay_s(router, num_requests=BEFORE + SHOWN)",
        "tests/disaggregation/test_figures.py",
    ),
)


def known(root: Path) -> Iterator[Defect]:
    """Every one of them where it stands today.

    Raises:
        ValueError: the place is not there any more, or not alone.
    """
    for each in (*TOGETHER, *UNSEEN):
        text = (root / each.file).read_text("utf8")
        if text.count(each.before) != 1:
            raise ValueError(
                f"{each.file} must have {each.before!r} once, "
                f"got {text.count(each.before)} places"
            )
        head = text[: text.index(each.before)]
        start = len(head.encode())
        yield Defect(
            kind=KIND,
            file=each.file,
            start=start,
            end=start + len(each.before.encode()),
            line=head.count("\n") + 1,
            before=each.before,
            after=each.after,
            label=each.net,
        )
