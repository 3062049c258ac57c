"""Real traces: samples beside the tests, and whole files where a machine has them.

``LLMSERVE_TRACES`` names the folder of the whole files; without it
``shared/data/traces`` beside the repository is looked into.
"""

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np

SAMPLES = Path(__file__).resolve().parents[1] / "data" / "traces"
BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data" / "traces"
FOLDER = Path(os.environ.get("LLMSERVE_TRACES", BESIDE))
FORMATS = {
    "AzureLLMInferenceTrace_conv.csv": "azure",
    "AzureLLMInferenceTrace_code.csv": "azure",
    "BurstGPT_1.csv": "burstgpt",
    "mooncake_conversation_first4000.jsonl": "mooncake",
    "conversation_trace.jsonl": "mooncake",
}
# Prompts and answers of every request, by the name of the file that they are from.
LENGTHS = {
    "AzureLLMInferenceTrace_conv.csv": "azure_conversation_lengths.csv.gz",
    "AzureLLMInferenceTrace_code.csv": "azure_code_lengths.csv.gz",
    "mooncake_conversation_first4000.jsonl": "mooncake_conversation_lengths.csv.gz",
}


def samples() -> list[tuple[str, Path]]:
    """Name of the format and path of the first lines of each trace that is kept."""
    return [
        (path.name.split("_")[0], path) for path in sorted(SAMPLES.glob("*_first_*"))
    ]


def real() -> list[tuple[str, Path]]:
    """Name of the format and path of every whole trace that is here."""
    paths = ((form, FOLDER / name) for name, form in FORMATS.items())
    return [(form, path) for form, path in paths if path.is_file()]


def lengths(name: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Prompts and answers of every request of a published trace, in tokens."""
    with gzip.open(SAMPLES / LENGTHS[name], "rt") as file:
        table = np.loadtxt(file, delimiter=",", skiprows=1, dtype=np.int64)
    return table[:, 0], table[:, 1]
