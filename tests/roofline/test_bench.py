"""The bench: every setting gives an answer, a wrong one a readable sentence."""

import json
from functools import cache, partial
from html import unescape
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from llmserve_lab.catalog import (
    ACCELERATORS,
    EFFICIENCIES,
    MODELS,
    PRECISIONS,
    machine,
    workload,
)
from llmserve_lab.formula.text import si
from llmserve_lab.page.widget import Bench, Choose, Turn
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.iteration_count import walk
from llmserve_lab.roofline.page import figures
from llmserve_lab.roofline.page.playground import bench, settings
from llmserve_lab.running_example import FITTED
from tests.benches import answered

CONFIG = {
    "model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
    "vocab_size": 99, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6, "architectures": ["LlamaForCausalLM"],
    "max_position_embeddings": 128, "rope_theta": 10000.0,
}  # fmt: skip


@cache
def made() -> Bench:
    return bench()


answer = partial(answered, made)


def test_the_picture_on_the_page_is_the_state_at_the_start() -> None:
    assert made().picture.html() in answer()


def test_everything_that_the_catalog_discloses_can_be_chosen() -> None:
    options = {
        name: set(knob.options)
        for name, knob in made().knobs.items()
        if isinstance(knob, Choose)
    }
    disclosed = {a.name for a in ACCELERATORS.values() if a.disclosed}
    assert options == {
        "model": {model.name for model in MODELS.values()},
        "accelerator": disclosed,
        "precision": set(PRECISIONS),
        "efficiency": {FITTED, *(each.name for each in EFFICIENCIES.values())},
    }


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_machine_answers_in_what_it_computes_in(precision: str) -> None:
    turned: dict[str, Any] = {"config": "", "batch": 1, "context": 0, "chunk": 1}
    for device in (each for each in ACCELERATORS.values() if each.disclosed):
        turned |= {"accelerator": device.name, "precision": precision}
        for model, share in zip(MODELS.values(), cycle(EFFICIENCIES.values())):
            turned |= {"model": model.name, "efficiency": share.name}
            if precision in device.peak_flops:
                for known in settings(**turned)[1].values():
                    assert float(f.ITERATION_S.at(known)) > 0
            else:
                with pytest.raises(LookupError, match=f"got '{precision}'"):
                    settings(**turned)


def test_decode_works_on_latents_and_a_chunk_on_what_is_made_of_them() -> None:
    answered = answer(model="DeepSeek-V3", context=2**17, chunk=2048)
    shape = MODELS["deepseek-v3"]
    for chunk, absorbed, batch, cached in ((1, True, 32, 2**17), (2048, False, 1, 0)):
        size = {"batch": batch, "context": cached, "chunk": chunk}
        bill = walk(shape, **size, absorbed=absorbed, last_scored=True)
        assert si(bill.iteration_flops / bill.iteration_bytes, "FLOP/byte") in answered


@pytest.mark.parametrize(
    ("key", "device", "precision"),
    [("llama-3-70b", "h200-sxm", "fp8"), ("deepseek-v3", "mi300x", "bf16")],
)
def test_the_answer_states_the_numbers_of_its_settings(
    key: str, device: str, precision: str
) -> None:
    model, accelerator = MODELS[key], ACCELERATORS[device]
    html = answer(
        model=model.name, accelerator=accelerator.name, precision=precision, batch=3
    )
    peaks = machine(accelerator, precision=precision)
    known: dict[str, Any] = workload(model, precision=precision) | peaks
    known |= {"batch": 3, "context": 1100, "chunk": 1}
    stored = float(f.STORED_BYTES.at(known))
    held = float(f.ITERATION_BYTES.at(known, weight_bytes=stored))
    assert f"Weights and cache take {si(held, 'byte')} where" in html
    assert f"decode does {si(f.INTENSITY.at(known), 'FLOP/byte')}" in html
    assert f"{model.name} on {accelerator.name}, {precision}" in html
    assert html.count("$$") == 2 * 2 * 5  # five steps for each of two phases
    assert "{" in html and "bench-error" not in html


def test_the_prompt_of_the_bench_is_that_of_the_roofline() -> None:
    """Both begin with an empty cache: one prompt, one intensity."""
    known = figures.roofline().values()
    assert known["prefill_intensity"] == pytest.approx(947, abs=1)
    assert f"prefill does {si(known['prefill_intensity'], 'FLOP/byte')}" in answer()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"accelerator": "A100 80GB SXM", "precision": "fp8"}, "got 'fp8'"),
        ({"config": "no/such/config.json"}, "no/such/config.json"),
        ({"batch": 0}, "batch must be positive, got 0"),
        ({"context": -5}, "context must be at least 0, got -5"),
    ],
)
def test_a_wrong_setting_is_answered_in_a_sentence(
    changes: dict[str, Any], message: str
) -> None:
    html = answer(**changes)
    assert 'class="bench-error"' in html and "Not possible: " in html
    assert message in unescape(html)
    assert "Traceback" not in html


def test_a_model_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG))
    html = answer(config=str(path))
    assert "bench-error" not in html
    assert "Llama-3.1-8B" not in html
    path.write_text(json.dumps({k: v for k, v in CONFIG.items() if k != "hidden_size"}))
    assert "hidden_size" in answer(config=str(path))
    path.write_text("{ not json")
    assert "Not possible: " in answer(config=str(path))


def test_the_widgets_answer_when_they_are_turned() -> None:
    made().widget()
    turned, knob = made()._made, made().knobs["batch"]
    assert made().picture.html() in turned["answer"].value
    turned["accelerator"].value = "B200 SXM"
    assert "on B200 SXM" in turned["answer"].value
    assert isinstance(knob, Turn)
    before = turned["answer"].value
    turned["config"].value = "nowhere.json"
    assert "Not possible: " in turned["answer"].value
    turned["batch"].value = 10 * knob.high  # a typed number is kept in its range
    assert turned["batch"].value == knob.high
    turned["config"].value = ""
    assert "bench-error" not in turned["answer"].value != before


def test_the_goal_can_be_reached_on_one_gpu() -> None:
    """A hundred tokens a second for one request of the large model, and it fits."""
    reached = []
    for device in (each for each in ACCELERATORS.values() if each.disclosed):
        for precision in ("bf16", "fp8"):
            if precision not in device.peak_flops or device.num_devices > 8:
                continue
            phases = settings(
                model="Llama-3.1-70B", config="", accelerator=device.name,
                precision=precision, efficiency="datasheet", batch=1, context=1000,
                chunk=1000,
            )[1]  # fmt: skip
            stored = workload(MODELS["llama-3.1-70b"], precision=precision)
            weights = float(f.STORED_BYTES.at(stored))
            held = f.ITERATION_BYTES.at(phases["decode"], weight_bytes=weights)
            fits = float(held) <= float(device.usable_bytes)
            if fits and f.ITERATION_S.at(phases["decode"]) < 1 / 100:
                reached.append((device.key, precision))
    assert ("b200-sxm", "fp8") in reached
    assert not any(device == "h100-sxm" for device, _ in reached)
