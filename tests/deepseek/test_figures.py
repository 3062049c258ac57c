"""The figures show what the twin computes."""

import pytest

from llmserve_lab.deepseek.model.assumptions import Overlap
from llmserve_lab.deepseek.model.setup import SETUPS, Setup, setup
from llmserve_lab.deepseek.page import figures
from llmserve_lab.deepseek.page.controls import DEVICES
from tests.deepseek.twins import twin

H100 = SETUPS["9 × 8 H100"]


@pytest.mark.parametrize(
    ("device", "n_gpus", "model"),
    [
        ("H100 SXM", 72, "DeepSeek-V3"),
        ("GB200 NVL72", 48, "Kimi K2"),
        ("B200 SXM", 8, "DeepSeek-V3"),
        ("H800 SXM", 144, "Kimi K2"),
    ],
)
def test_the_frontier_is_the_twins(device: str, n_gpus: int, model: str) -> None:
    asked = {"device": device, "ep": float(n_gpus), "model": model}
    known = figures.frontier().values(**asked, balancedness=0.7)
    keys = {each.name: each.key for each in DEVICES}
    key = {"DeepSeek-V3": "deepseek-v3", "Kimi K2": "kimi-k2"}[model]
    held: Setup = setup(keys[device], n_gpus, model=key)
    size = {"batch": 256, "context": 2000}
    ways: dict[str, Overlap] = {"halves": "halves", "turn": "none"}
    for name, overlap in ways.items():
        place = twin(held, overlap=overlap, balancedness=0.7)
        rate = float(place.gpu_tokens_per_s(**size))
        assert known[f"{name}_gpu_tokens_per_s"] == pytest.approx(rate, rel=1e-9)
        assert known[f"{name}_user_tokens_per_s"] == pytest.approx(rate / 256, rel=1e-9)
    fits = float(place.batch_fits(2000)) >= 256
    assert known["room"] == float(fits)


def test_the_bars_of_a_step_are_the_twins_blocks() -> None:
    known = figures.waterfall().values(
        balancedness=1.0, gpu_requests=128.0, context=4000.0
    )
    alone = twin(H100, overlap="none", balancedness=1.0)
    blocks = alone.blocks(batch=128, context=4000)
    for name in set(blocks) - {"host_s"}:
        seconds = blocks[name]
        assert known[name] == pytest.approx(float(seconds), rel=1e-9)
    assert known["turn_s"] == pytest.approx(sum(map(float, blocks.values())))
    assert known["room"] == 1.0
    assert figures.waterfall().values(ep=8.0)["room"] == 0.0


def test_what_fits_is_the_twins() -> None:
    known = figures.memory().values(context=16384.0)
    fits = float(twin(H100).batch_fits(16384))
    assert known["batch_fits"] // 1 == fits
