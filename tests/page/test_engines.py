"""Every option and metric of vLLM that a page shows is in the table of one release."""

from __future__ import annotations

import ast
import html
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import cache
from io import StringIO

import pytest

from llmserve_lab.capacity import plan_command
from llmserve_lab.page import engines
from tests.conftest import ROOT

NOTEBOOKS = sorted([*ROOT.glob("chapters/*.ipynb"), *ROOT.glob("labs/**/*.ipynb")])
PAGES = [ROOT / "intro.ipynb", *NOTEBOOKS, *sorted(ROOT.glob("chapters/*.md"))]
MODULES = sorted(ROOT.glob("src/llmserve_lab/**/*.py"))
OPTION = re.compile(r"(?<![\w(-])--[a-z][a-z0-9]*(?:-[a-z0-9]+)*(?:\.[a-z_]+)?")
METRIC = re.compile(r"\bvllm:[a-z][a-z0-9_]+")
STYLE = re.compile(r"style=\\?\"[^\"]*\"|var\(--[^)]*\)|--(?:fig|book)-[a-z]*")
# Options of other programs, as the pages name them.
SGLANG = {
    "--cuda-graph-bs",
    "--deepep-mode",
    "--disaggregation-mode",
    "--disaggregation-transfer-backend",
    "--dist-init-addr",
    "--dp-size",
    "--enable-deepep-moe",
    "--enable-dynamic-chunking",
    "--enable-dp-attention",
    "--enable-dp-lm-head",
    "--enable-expert-distribution-metrics",
    "--enable-prefill-cp",
    "--enable-two-batch-overlap",
    "--ep-num-redundant-experts",
    "--ep-size",
    "--max-running-requests",
    "--mem-fraction-static",
    "--model-path",
    "--pp-max-micro-batch-size",
    "--moe-a2a-backend",
    "--moe-dense-tp-size",
    "--speculative-algorithm",
    "--speculative-eagle-topk",
    "--speculative-num-draft-tokens",
    "--speculative-num-steps",
    "--tp-size",
}
LM_EVAL = {"--tasks", "--batch"}
# Of the book's own programs; what the planner shares with vLLM (--model) stays listed.
PLANNER = {
    "--answer",
    "--cached",
    "--config",
    "--gpu",
    "--gpus",
    "--json",
    "--precision",
    "--prompt",
    "--rate",
    "--simulate",
    "--tpot",
    "--ttft",
}
OWN = {"--check"} | PLANNER
BEGINNINGS = {"--max", "--gpu"}  # of options whose value is a size
OTHERS = SGLANG | LM_EVAL | OWN | BEGINNINGS


def written(page: str) -> Iterator[str]:
    """Texts of a page: prose, code, and what its cells printed or drew."""
    if not page.startswith("{"):
        yield page
        return
    for cell in json.loads(page)["cells"]:
        yield "".join(cell["source"])
        for output in cell.get("outputs", ()):
            yield "".join(output.get("text", ()))
            for kind, data in output.get("data", {}).items():
                yield "".join(data) if kind.startswith("text/") else ""


def strings(module: str) -> Iterator[str]:
    """Strings of a module, parts of f-strings included, if one may have a name."""
    if "--" not in module and "vllm:" not in module:
        return
    for node in ast.walk(ast.parse(module)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def named(text: str) -> set[str]:
    """Options and metrics that a text names."""
    plain = STYLE.sub("", html.unescape(text))
    return {*OPTION.findall(plain), *METRIC.findall(plain)} - OTHERS


@cache
def everywhere() -> dict[str, set[str]]:
    """Files in which each name stands."""
    found: dict[str, set[str]] = defaultdict(set)
    texts = [(path, written) for path in PAGES] + [(path, strings) for path in MODULES]
    for path, parts in texts:
        if path.name == "engines.py":
            continue
        for text in parts(path.read_text("utf8")):
            for name in named(text):
                found[name].add(str(path.relative_to(ROOT)))
    return found


def test_the_planner_has_the_options_that_are_called_its_own() -> None:
    with redirect_stdout(StringIO()) as said, pytest.raises(SystemExit):
        plan_command.main(["--help"])
    options = {*OPTION.findall(said.getvalue())} - {"--help"}
    assert options == PLANNER | {"--model"}


def test_every_name_on_a_page_is_in_the_table() -> None:
    unknown = {}
    for name, files in everywhere().items():
        try:
            engines.shown(name)
        except ValueError:
            unknown[name] = files
    assert unknown == {}


def test_the_pages_name_options_and_metrics() -> None:
    shown = everywhere()
    assert {"--max-num-seqs", "--data-parallel-rpc-port", "--num-warmups"} <= set(shown)
    assert {"vllm:num_preemptions_total", "vllm:kv_cache_usage_perc"} <= set(shown)
    assert not {name for name in shown if name.startswith(("--fig", "--book"))}


def test_no_name_is_in_the_table_for_no_page() -> None:
    used = {engines.shown(name).name for name in everywhere()}
    listed = set(engines.OPTIONS) | set(engines.METRICS)
    assert listed - used - {"--attention-config"} == set()


@pytest.mark.parametrize(
    "text",
    [
        "start it with `--max-num-seq 8`",
        "<code>--gpu-memory-utilisation</code>",
        "rate(vllm:num_preemption_total[1m])",
        "vllm:num_requests_swapped",
        "--tensor-parallel",
    ],
)
def test_a_misspelt_name_is_seen(text: str) -> None:
    (name,) = named(text)
    with pytest.raises(ValueError, match="name must be an option or a metric of vLLM"):
        engines.shown(name)


@pytest.mark.parametrize(
    ("shown", "name"),
    [
        ("--no-enable-chunked-prefill", "--enable-chunked-prefill"),
        ("vllm:num_preemptions_total", "vllm:num_preemptions"),
        ("vllm:iteration_tokens_total", "vllm:iteration_tokens_total"),
        ("vllm:iteration_tokens_total_bucket", "vllm:iteration_tokens_total"),
        ("vllm:time_to_first_token_seconds_sum", "vllm:time_to_first_token_seconds"),
    ],
)
def test_a_name_is_found_as_a_page_writes_it(shown: str, name: str) -> None:
    assert engines.shown(shown).name == name


def test_a_name_stands_once_and_says_where_it_is_documented() -> None:
    tables = [engines.OPTIONS, engines.METRICS]
    by_concept = [each.name for each in engines.NAMES.values() if each.name[:2] == "--"]
    names = [*by_concept, *(name for table in tables for name in table)]
    assert len(set(names)) == len(names)
    for name in names:
        one = engines.shown(name)
        assert one.url.startswith(engines.SOURCE) and one.path.endswith(".py")
        proxy = one.path == engines.PROXY
        assert one.docs.startswith(engines.DOCS) is not proxy, name
    assert engines.shown("--num-warmups").docs.endswith("/cli/bench/serve/")
    assert engines.shown("--max-num-seqs").docs.endswith("/cli/serve/")
    assert engines.shown("vllm:num_preemptions").docs.endswith("/usage/metrics/")
    assert engines.named("scheduler").docs == ""
