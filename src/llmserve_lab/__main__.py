"""``python -m llmserve_lab``: what is installed; ``plan`` after it plans a model."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import llmserve_lab
from llmserve_lab.extras import LIBRARIES


def extras() -> dict[str, list[str]]:
    """Optional libraries that are missing, by the extra that brings them."""
    found: dict[str, list[str]] = {}
    for module, extra in LIBRARIES.values():
        package = module.split(".")[0]
        missing = found.setdefault(extra, [])
        if find_spec(package) is None and package not in missing:
            missing.append(package)
    return found


def main() -> None:
    """Print version, names to start from, catalog keys, and what is missing."""
    print(f"llmserve_lab {llmserve_lab.__version__}")
    print("names:", ", ".join(llmserve_lab.__all__))
    print("models:", ", ".join(llmserve_lab.MODELS))
    print("accelerators:", ", ".join(llmserve_lab.ACCELERATORS))
    for extra, missing in extras().items():
        without = f"misses {', '.join(missing)}" if missing else "is installed"
        print(f"extra [{extra}] {without}")
    print("python -m llmserve_lab plan -h: how many GPUs does my model need?")
    print("help(llmserve_lab) shows a first run; the README a longer one.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["plan"]:
        from llmserve_lab.capacity import plan_command

        plan_command.main(sys.argv[2:])
    else:
        main()
