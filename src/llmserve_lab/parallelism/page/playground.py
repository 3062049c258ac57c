"""The chapter's bench: GPUs in groups and stages, a load, a link between servers."""

from __future__ import annotations

from llmserve_lab.catalog import LINKS, MODELS, Link, ModelShape
from llmserve_lab.page.still import StaticFigure
from llmserve_lab.page.table import Table
from llmserve_lab.page.widget import Bench, Choose, Knob, Turn
from llmserve_lab.parallelism.arguments import DEVICE, on
from llmserve_lab.parallelism.deployments import LAYOUTS, SERVER, eight
from llmserve_lab.parallelism.page.two_servers import two_servers

LAYOUT = "TP 8"
MODEL_NAMES = ("Llama-3.1-70B", "Llama-3.1-8B", "Llama-3.1-405B")
LINK_NAMES = tuple(LINKS[k].name for k in ("infiniband-ndr", "roce-400g", "nvlink4"))


def bench() -> Bench:
    """GpuLayout, load and link open; its picture shows where the GPUs stand."""
    knobs: dict[str, Knob] = {
        "layout": Choose("layout of 8 H100", tuple(LAYOUTS), LAYOUT),
        "requests": Turn("requests", 8, 512, 64),
        "context": Turn("tokens in each cache", 0, 8000, 1000),
        "link": Choose("between servers", LINK_NAMES, LINK_NAMES[0]),
        "ports": Turn("ports of a server in an all-reduce", 1, SERVER, SERVER),
        "model": Choose("model", MODEL_NAMES, MODEL_NAMES[0]),
    }
    picture: StaticFigure = two_servers()
    return Bench("Bench: lay out eight GPUs of two servers", knobs, show, picture)


def _link(name: str) -> Link:
    (found,) = (each for each in LINKS.values() if each.name == name)
    return found


def _model(name: str) -> ModelShape:
    (found,) = (each for each in MODELS.values() if each.name == name)
    return found


def show(
    *, layout: str, requests: int, context: int, link: str, ports: int, model: str
) -> str:
    """What the layout reaches in decode and in prefill, as a table."""
    chosen = eight(layout, _link(link), _model(model), ports)
    step = chosen.decode(requests, context)
    room = float(on(DEVICE)["hbm_bytes"])
    first_s = chosen.first_token_s(8192, 2048)
    fits = "it fits" if step.gpu_bytes < room else "it does not fit"
    rows = [
        ("decode, token to token", f"{1e3 * step.token_s:.1f} ms"),
        ("decode, all requests", f"{step.tokens_per_s:,.0f} tokens/s"),
        ("prefill, chunks of 2,048", f"{chosen.prefill_rate(2048):,.0f} tokens/s"),
        ("one prompt of 8,192, first token", f"{first_s:.2f} s"),
        ("weights and cache of a GPU", f"{step.gpu_bytes / 1e9:.1f} GB, {fits}"),
    ]
    title = f"{model}, {layout}, {requests} requests"
    return Table(title, ("what", "how much"), rows)._repr_html_()
