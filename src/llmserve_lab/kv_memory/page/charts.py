"""What the live figure draws: requests that fit, against the context of each."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.kv_memory import formulas as f
from llmserve_lab.kv_memory.page.controls import LAYERS
from llmserve_lab.page.live.axes import Drawn, QuantityAxis, bound_curves
from llmserve_lab.page.live.bound import BoundMark, Landmark, Marks, landmarks
from llmserve_lab.page.palette import GREY, MEANINGS, PAGE_CSS

SHORTEST, LONGEST = 1024.0, 131_072.0
CONTEXT = QuantityAxis(
    q.mean_held,
    words="tokens in cache, log",
    domain=(SHORTEST, LONGEST),
    log=True,
    ticks={"values": [2000, 5000, 10_000, 20_000, 50_000, 100_000]},
)
# The highest decade belongs to the bar: so many requests fit on no choice of GPUs.
DECADES = [1, 10, 100, 1000, 10_000]
REQUESTS = QuantityAxis(
    q.batch_fits,
    words="requests that fit, log",
    domain=(1, 100_000),
    log=True,
    ticks={"values": DECADES},
)
BYTES = QuantityAxis(q.cache_bytes, unit="GB")
BAR = (2, 38)  # pixels from the top
PARTS = Marks(
    BoundMark("weights", q.stored_bytes, MEANINGS["weights"]),
    BoundMark("cache", q.cache_bytes, MEANINGS["cache"]),
    BoundMark("other memory", q.usable_bytes, GREY),
)


def capacity() -> Any:
    """A bar of the memory; falling lines of requests, grey where no model reads."""
    from llmserve_lab.extras import altair as alt

    line = Drawn(
        "chosen",
        f.REQUESTS_FIT,
        MEANINGS["cache"],
        _known(),
        label_at=0.85,
        means="the chosen model",
        says=_called("model"),
    )
    beside = Drawn(
        "second",
        f.REQUESTS_FIT,
        GREY,
        _known("other_"),
        label_at=0.5,
        dash=(5, 3),
        expr=_within("other_"),
        rising=True,
        means="the second model",
        says=_called("other"),
    )
    place = Landmark("tokens in cache", q.mean_held, down=BAR[1])
    return alt.layer(
        *_grey(),
        *landmarks(CONTEXT, "x", "mean_held", place),
        bound_curves(CONTEXT, REQUESTS, line, beside),
        *_dots(),
        *_memory(),
        height=265,
    )


def _within(prefix: str) -> str:
    """Vega expression: requests that fit, as far as the model reads."""
    fits = REQUESTS.draws(f.REQUESTS_FIT, mean_held="datum.mean_held", **_known(prefix))
    return f"datum.mean_held <= {prefix}most_context ? {fits} : NaN"


def _called(choice: str) -> str:
    """Vega expression: the name of the model that is chosen."""
    return f"{[one.name for one in LAYERS]}[{choice}]"


def _dots() -> list[Any]:
    """Where the slider stands on both lines."""
    from llmserve_lab.extras import altair as alt

    row = alt.Chart(alt.Data(values=[{}]))
    reads = "mean_held <= other_most_context ? 1 : 0"
    return [
        row.transform_calculate(
            at=CONTEXT.reads(q.mean_held), up=REQUESTS.reads(q.batch_fits, signal)
        )
        .mark_point(filled=True, size=60, opacity=shown, color=ink.css, clip=True)
        .encode(x=CONTEXT.on("x", "at"), y=REQUESTS.on("y", "up"))
        for signal, ink, shown in (
            ("batch_fits", MEANINGS["cache"], 1),
            ("other_batch_fits", GREY, alt.expr(reads)),
        )
    ]


def _known(prefix: str = "") -> dict[str, str]:
    """Arguments of a line that the choices set."""
    names = (
        "cache_bytes", "full_token_bytes", "window_token_bytes", "window", "state_bytes"
    )  # fmt: skip
    return {name: prefix + name for name in names}


def _memory() -> list[Any]:
    """Memory of all GPUs as one bar: weights, cache, and what is neither."""
    from llmserve_lab.extras import altair as alt

    whole = f"(usable_bytes * {q.n_ranks.name})"
    weights, cache, _ = PARTS
    after = f"({weights.quantity.name} + {cache.quantity.name})"
    spans = {
        weights.name: ("0", weights.quantity.name),
        cache.name: (weights.quantity.name, after),
        PARTS[2].name: (after, whole),
    }
    one = alt.Chart(alt.Data(values=[{}]))
    strip: dict[str, Any] = {"y": {"expr": "0"}, "y2": {"expr": "height / 5 - 1"}}
    sides: dict[str, Any] = {"x": {"expr": "-1"}, "x2": {"expr": "width + 1"}}
    layers = [one.mark_rect(color=PAGE_CSS, opacity=1, **strip, **sides)]
    for mark in PARTS:
        start, end = spans[mark.name]
        size = BYTES.scaled(f"{end} - {start}", q.cache_bytes)
        width = f"width * ({end} - {start}) / {whole}"
        said = f"format({size}, '.0f') + ' GB'"
        words = f"'{mark.name.split()[0]}\\n' + {said}"
        layers += [
            one.mark_rect(
                color=mark.ink.css,
                stroke=PAGE_CSS,
                y={"expr": str(BAR[0])},
                y2={"expr": str(BAR[1])},
                x={"expr": f"width * {start} / {whole}"},
                x2={"expr": f"width * {end} / {whole}"},
            ),
            one.mark_text(
                text={"expr": f"{width} > 27 ? {words} : ''"},
                fontSize={"expr": f"{width} > 56 ? 12 : 9.5"},
                lineBreak="\n",
                baseline="top",
                color=PAGE_CSS,
                fontWeight="bold",
                y={"expr": str(BAR[0] + 5)},
                x={"expr": f"width * ({start} + {end}) / 2 / {whole}"},
            ),
        ]
    return layers


def _grey() -> list[Any]:
    """Beyond its longest context no model reads; below one request nothing runs."""
    from llmserve_lab.extras import altair as alt

    one = alt.Chart(alt.Data(values=[{}]))
    look: dict[str, Any] = {"color": GREY.css, "opacity": 0.22, "clip": True}
    words: dict[str, Any] = {"color": GREY.css, "fontSize": 12}
    return [
        one.mark_rect(
            **look,
            y={"expr": "height / 5"},
            y2={"expr": "height"},
            x={"expr": f"width * {_along('most_context')}"},
            x2={"expr": "width"},
        ),
        one.mark_text(
            text="beyond the model",
            align="right",
            x={"expr": "width - 6"},
            y={"expr": "height / 5 + 14"},
            opacity={"expr": f"most_context < {LONGEST} ? 1 : 0"},
            **words,
        ),
        one.mark_text(
            text="no server confirms this count",
            align="right",
            x={"expr": "width - 6"},
            y={"expr": "height / 5 + 30"},
            opacity={"expr": "unlike"},
            **words,
        ),
        one.mark_text(
            text="not even one request fits",
            align="left",
            x={"expr": "8"},
            y={"expr": "height - 12"},
            opacity={"expr": f"{q.batch_fits.name} < 1 ? 1 : 0"},
            **words,
        ),
    ]


def _along(signal: str) -> str:
    """Place of a context on the axis, from 0 to 1."""
    inside = f"min({signal}, {LONGEST})"
    return f"(log({inside} / {SHORTEST}) / log({LONGEST} / {SHORTEST}))"
