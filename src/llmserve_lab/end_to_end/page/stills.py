"""The chapter's still picture: what a pass waits for."""

from __future__ import annotations

from llmserve_lab import running_example
from llmserve_lab.end_to_end.arguments import prompt_flops
from llmserve_lab.end_to_end.page.questions import PROMPT
from llmserve_lab.page.palette import MEANINGS
from llmserve_lab.page.still import StaticFigure, figure_style


def phases() -> dict[str, tuple[float, float, float]]:
    """Seconds to read weights, to read the cache and to compute, for three passes."""
    known, model = running_example.ideal(), running_example.model()
    peak, rate = float(known["peak_flops"]), float(known["hbm_bw"])
    pair, kappa = model.attn_flops_per_pair(), model.kv_bytes_per_token()
    weights_s = 2.0 * model.params_read / rate
    square = PROMPT * (PROMPT + 1) / 2
    read = (prompt_flops(model, PROMPT) + pair * square) / peak
    found = {f"prefill of {PROMPT:,} tokens": (weights_s, 0.0, read)}
    for length in (PROMPT + 1, model.max_context or PROMPT):
        seen = length - 1  # of the cache; the new row also looks at itself
        work = (2.0 * model.params_active + pair * length) / peak
        found[f"decode of token {length:,}"] = (weights_s, kappa * seen / rate, work)
    return found


@figure_style()
def waiting() -> StaticFigure:
    """Two bars for each pass, reading and computing; the longer one decides."""
    from llmserve_lab.extras import pyplot as plt

    found = phases()
    figure, axes = plt.subplots(figsize=(4.5, 2.1))
    for place, (name, (weights_s, cache_s, work_s)) in enumerate(found.items()):
        top, read_s = 3.0 * place, weights_s + cache_s
        axes.barh(top, 1e3 * weights_s, color=MEANINGS["weights"].light)
        left = 1e3 * weights_s
        axes.barh(top, 1e3 * cache_s, left=left, color=MEANINGS["cache"].light)
        axes.barh(top + 0.9, 1e3 * work_s, color=MEANINGS["compute"].light)
        axes.text(-0.3, top + 0.45, name.replace(" of", "\nof"),
            ha="right", va="center", fontsize=9)  # fmt: skip
        for y, seconds in ((top, read_s), (top + 0.9, work_s)):
            bold = "bold" if seconds == max(read_s, work_s) else "normal"
            axes.text(1e3 * seconds + 0.2, y, f"{1e3 * seconds:.3g}", va="center",
                weight=bold, fontsize=9)  # fmt: skip
    for x, (mark, words) in zip(
        (0.0, 5.8, 10.9),
        (("weights", "read weights"), ("cache", "read cache"), ("compute", "compute")),
        strict=True,
    ):
        ink = MEANINGS[mark].light
        axes.text(x, -1.2, f"■ {words}", color=ink, weight="bold", fontsize=9)
    axes.set(ylim=(7.6, -1.7), xlim=(0, 16.5), yticks=[], xticks=[0, 5, 10, 15])
    axes.set_xlabel("milliseconds, at least")
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    first, (_, middle), (_, last) = (
        (max(each[0] + each[1], each[2]), each[0] + each[1]) for each in found.values()
    )
    return StaticFigure.of(
        figure,
        name="end_to_end.waiting",
        title="Prefill waits for arithmetic, decode for memory",
        sentence=(
            f"{running_example.model().name} on one {running_example.device().name}, "
            "by the datasheet: "
            f"{1e3 * first[0]:.1f} ms to compute the prompt, {1e3 * middle:.2f} ms to "
            f"read for one token, {1e3 * last:.2f} ms with the longest possible text."
        ),
    )
