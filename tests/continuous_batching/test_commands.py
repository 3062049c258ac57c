"""Each block of commands can be pasted into a terminal of its own."""

import re

import pytest

from llmserve_lab.continuous_batching import commands


@pytest.mark.parametrize(
    "text", [commands.server(512), commands.usual_client(), commands.long_client()]
)
def test_each_block_of_commands_can_be_pasted_alone(text: str) -> None:
    """Every line is a command or goes on from one, and sets what it uses."""
    went_on = False
    for line in text.splitlines():
        assert went_on or line.startswith(("vllm ", "M="))
        went_on = line.endswith("\\")
    for name in set(re.findall(r"\$([A-Z]+)", text)) - {"RANDOM"}:  # the shell's own
        assert f"{name}=" in text.split(f"${name}")[0]
    assert text.count("vllm ") == 1  # a second one would wait for the first
    assert ("--metric-percentiles 99,99.9,100" in text) is ("itl" in text)
