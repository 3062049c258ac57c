"""Where real traces may lie on a machine: nowhere, and then their tests do not exist.

``LLMSERVE_TRACES`` names the folder; without it ``shared/data/traces`` beside the
repository is looked into. The formats are tested on made-up traces anyway.
"""

import os
from pathlib import Path

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data" / "traces"
FOLDER = Path(os.environ.get("LLMSERVE_TRACES", BESIDE))
FORMATS = {
    "AzureLLMInferenceTrace_conv.csv": "azure",
    "AzureLLMInferenceTrace_code.csv": "azure",
    "BurstGPT_1.csv": "burstgpt",
    "mooncake_conversation_first4000.jsonl": "mooncake",
    "conversation_trace.jsonl": "mooncake",
}


def real() -> list[tuple[str, Path]]:
    """Name of the format and path of every real trace that is here."""
    paths = ((form, FOLDER / name) for name, form in FORMATS.items())
    return [(form, path) for form, path in paths if path.is_file()]
