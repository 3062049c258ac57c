"""What else moves a goodput: launches that the GPU does not wait for, and eight bits.

Whether the CPU's part of a step with a prompt is waited for decides which GPU is the
cheapest, and no run times that part apart. So the goodputs stand with and without it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from math import ceil
from typing import Any

from llmserve_lab import catalog, running_example
from llmserve_lab.capacity import datasheet, margins
from llmserve_lab.capacity.by_hand import ONE_MONTH, RequestTimes, p90_rate
from llmserve_lab.capacity.demand import ServerDemand
from llmserve_lab.capacity.deployment import Prices, hourly
from llmserve_lab.capacity.measured import real
from llmserve_lab.capacity.plan import plan
from llmserve_lab.capacity.record import recorded
from llmserve_lab.capacity.runs import most_of_the_trace
from llmserve_lab.capacity.sweep import LONG_S, crossing
from llmserve_lab.capacity.tables import UNSEEN, short
from llmserve_lab.capacity.triangle import DEVICES, LEVEL, LOADS, ROWS, pool, served
from llmserve_lab.checks import at_least, positive
from llmserve_lab.engine import Chunked, Pool
from llmserve_lab.page.table import Table

EIGHT, CACHED = "fp8", 0.5
OVER = "p90 over mean"


def unwaited(device: str) -> Pool:
    """The page's replica if a prompt's launches ran while the GPU still computes."""
    one = pool(running_example.MODEL, device)
    return replace(one, cost=replace(one.cost, prompt_s=0.0))


def eight_bits() -> Pool:
    """The page's replica on an H100 with weights, cache and arithmetic in 8 bits."""
    cost = running_example.served_by(
        running_example.model(), running_example.device(), precision=EIGHT
    )
    return Pool(cost, Chunked(ROWS))


def spread(device: str) -> float:
    """TPOT that nine in ten keep over the mean TPOT, at the goodput of a GPU."""
    one = pool(running_example.MODEL, device)
    report = served(LOADS[0], crossing(one), one, seconds=LONG_S)
    return LEVEL.kept(report).nearest_tpot_s / float(report.tpot_s.mean())


def compared() -> dict[str, Any]:
    """As it is stored."""
    return {
        "unwaited": {each: _short(crossing(unwaited(each))) for each in DEVICES},
        EIGHT: _short(crossing(eight_bits())),
        OVER: {each: _short(spread(each)) for each in DEVICES},
    }


def own_traffic() -> dict[str, Any]:
    """Goodput of each GPU for the recorded hour, as it is stored: waited for, hidden.

    That of the H100 which waits is the hour's own.
    """
    found: dict[str, Any] = {"waits": {}, "hidden": {}}
    for device in DEVICES:
        for name, one in (
            ("waits", pool(running_example.MODEL, device)),
            ("hidden", unwaited(device)),
        ):
            rate = most_of_the_trace(one=one, between=(0.25, 8.0))
            found[name][device] = _short(rate)
    found["waits"][running_example.DEVICE] = recorded()["hour"]["goodput_per_s"]
    return found


def _short(number: float) -> float:
    return float(f"{number:.4g}")


@cache
def stored(name: str) -> Any:
    """What was compared, as recorded."""
    return recorded()["levers"][name]


def cached_gain(share: float = CACHED) -> float:
    """Rate of an H100 with part of each prompt cached, over that with none: means."""
    asked = ServerDemand(
        prompt=LOADS[0].prompt,
        answer=LOADS[0].answer,
        ttft_s=LEVEL.ttft_s,
        tpot_s=LEVEL.tpot_s,
        gpus=1,
    )
    model, gpu = running_example.model(), catalog.accelerator(running_example.DEVICE)
    rates = [
        plan(model, gpu, replace(asked, cached=each)).groups[0].carried_by_one
        for each in (0.0, share)
    ]
    return rates[1] / rates[0]


def scaled_rate(arithmetic: float, memory: float) -> float:
    """The sum by hand for an H100 with shorter parts, p90 at the target."""
    by = [each.scaled((arithmetic, memory)) for each in datasheet.parts()]
    return p90_rate(RequestTimes(running_example.DEVICE, *by))


@dataclass(frozen=True)
class Rent:
    """GPUs of a kind for a rate, and dollars an hour, at a goodput of each."""

    device: str
    per_s: float
    gpus: int
    prices: Prices

    @property
    def usd(self) -> float:
        """Dollars an hour of all."""
        return self.gpus * hourly(self.device, self.prices)


def rents(
    rate: float,
    *,
    waits: bool,
    off: float = 0.0,
    spare: int = 1,
    prices: Prices = ONE_MONTH,
) -> list[Rent]:
    """The kinds of GPU for recorded traffic, cheapest first: so many and a spare.

    ``waits``: for the CPU's part of a prompt; ``off``: the engine's rates are off by
    this share of the real ones; ``prices``: of an hour, by default all of one month.
    """
    positive("rate", rate)
    at_least("spare", spare, 0)
    stored_rates = recorded()["own"]["waits" if waits else "hidden"]
    found = []
    for each in DEVICES:
        per_s = real(round(float(stored_rates[each]), 2), off)
        found.append(Rent(each, per_s, ceil(rate / per_s) + spare, prices))
    return sorted(found, key=lambda one: one.usd)


def table(rate: float) -> Table:
    """Table of the GPUs for a rate: the CPU's part of a prompt waited for, and not."""
    without = {each.device: each for each in rents(rate, waits=False)}
    rows = [
        (
            short(each.device),
            *(
                cell
                for one in (each, without[each.device])
                for cell in (f"{one.per_s:.2f}", f"{one.gpus}", f"{one.usd:.2f}")
            ),
        )
        for each in rents(rate, waits=True)
    ]
    waits, hides = ("waits, /s", "GPUs", "$/hour"), ("hidden, /s", "so GPUs", "so $")
    columns = ("GPU", *waits, *hides)
    caption = (
        f"Simulated, for {rate:.0f} requests/s of the recorded traffic: goodput of one "
        "GPU, GPUs with a spare and their price if the GPU waits for the CPU's part of "
        "a prompt (left), and if that part is hidden (right)"
    )
    return Table(caption, columns, rows, band=UNSEEN)


def ties(rate: float) -> Table:
    """Table of the cheapest GPU by the engine's error and by what is waited for."""
    rows = []
    for off in margins.errors():
        cells = []
        for waits in (True, False):
            first = rents(rate, waits=waits, off=off)[0]
            cells += [f"{first.gpus} {short(first.device)}", f"{first.usd:.2f}"]
        rows.append((margins.said(off), *cells))
    columns = ("simulated rates are", "GPU waits", "$/hour", "hidden", "so $/hour")
    caption = (
        f"The cheapest for {rate:.0f} requests/s of the recorded traffic, with a "
        "spare, by how far the simulator is off: if the GPU waits for the CPU's part "
        "of a prompt, and if that part is hidden"
    )
    return Table(caption, columns, rows, band=UNSEEN)
