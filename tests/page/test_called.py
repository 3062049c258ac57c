"""What stands under a heading or beside a name is made of what it is called.

Stored outputs follow the source, so two headings, two columns, two names of marks that
change places print well. Of two columns the code of one has a word of its heading that
the other lacks; of two things side by side neither is made of the words of the other.
"""

import ast
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

from tests.page import parts
from tests.page.parts import Columns
from tests.page.test_printed_lines import Said, sides, words

# How code calls what a heading says, where it uses another word.
CODE = {
    **{"r*": "ratio", "r* if off": "low high", "gain": "lead room", "B": "batch"},
    **{"m": "batches", "$/hour": "usd price dollars", "TB/s": "bw", "α": "alpha"},
    **{"r": "falls", "in a slot": "theta", "by means": "guess", "FFN GPU": "experts"},
    **{"means off by": "guess theta", "lost": "loss", "GPUs": "many ep tp gpus"},
    **{"$/Mtoken": "rate hour answer", "sold as, GB": "hbm bytes", "engine": "said"},
    **{"TFLOP/s, 16 bits": "peak", "as of": "split source", "offer": "note"},
    **{"input": "asked", "output": "told", "request": "whole", "busy": "drawn"},
    **{"device": "accelerator", "rate": "gpu tokens per", "moved": "bytes"},
    **{"the run was": "status use", "weights": "precision", "computed": "flops"},
    **{"first token": "ttft", "each token": "tpot", "joins": "num devices"},
    **{"driver shows": "usable", "memory [ ]": "hbm", "rows in all": "sum"},
    **{"rows of the largest": "max", "passes": "len", "tokens": "same found"},
    **{"q_start": "start", "q_end": "stop", "kv_length": "keys", "stage": "kind"},
    **{"logits, against a pass of its own": "alike", "GPU makes": "made"},
    **{"plain / absorbed": "vanilla", "FLOPs, absorbed": "absorbed", "holds": "size"},
    **{"predicted": "made reading", "endless": "free", "pairs": "count found again"},
    **{"best split": "divided", "2P:2D": "two", "fetched at": "rate"},
    **{"fetching beside computing": "gain", "longest": "100", "kept [1]": "slo"},
    **{"closed form": "closed at", "list of tensors": "counted"},
    **{"rows, cached": "once", "pairs, cached": "once", "rows, counted": "formula"},
    **{"causal mask": "true", "no mask": "false", "answer": "e2e", "beside": "runs"},
    **{"rows computed": "total", "rows from the cache": "reused", "kind": "status"},
    **{"with its numbers": "how", "ms": "seconds", "range of 12 fits": "ends"},
    **{"its reserve": "own", "fitted": "reached", "book’s, TPOT": "wide"},
    **{"book’s, TTFT": "first", "from": "source", "size": "usable mib"},
    **{"numbers [1]": "heads", "layers [2]": "split", "KiB, all [3]": "naive"},
    **{"KiB, long [3]": "full", "room for": "fit", "runs": "min"},
    **{"working space": "beside", "published [1]": "scout record", "page": "where"},
    **{"MiB a GPU [3]": "off", "least": "min", "most": "max", "assumed": "way"},
    **{"what that is": "layout", "rank 0": "one", "rank  ": "other"},
    **{"measured": "real seen run gains", "on what": "where", "result": "found"},
    **{"fit": "room", "/s": "rate", "$ each": "hourly", "at least": "reserve"},
    **{"read in": "source", "smallest > 0": "min", "numbers": "len"},
    **{"weights, RTN": "logits", "activations too": "both", "and outliers": "loud"},
    **{"a token": "has", "if each head had its own": "would", "bound": "limit"},
    **{"measured / bound": "ratio", "it sees": "seen", "its p decides on": "judged"},
    **{"its keys and values": "kept", "ms, predicted": "spent", "by": "who"},
    **{"ms, measured": "lines", "tokens: chats": "eagle text chats"},
    **{"task unnamed": "runs", "best": "most", "rows": "again len own"},
    **{"summaries": "summaries", "code edits": "edits", "constant, at 8": "flat"},
    **{"TP 8": "one", "2 × TP 4": "half", "fitted to servers": "value"},
    **{"datasheet": "sheet", "padded": "padded s", "padded rows": "batch stretched"},
    **{"split": "split", "group": "group", "off": "error", "simulated": "seen"},
    **{"Attention": "attn", "port, one way": "out back", "requests": "batch"},
    **{"GPU makes at": "rate", "off by": "error", "tiles used": "number"},
    **{"ticks per row, so far": "end count", "scale": "shown"},
    **{"bytes of the group": "stored", "rows in this pass": "computed"},
    **{"cache read, Llama\u20113.1\u20118B": "reused"},
    **{"slower than their own factor": "risk", "rows slower than that": "slower"},
    **{"by slot": "paper", "what it sees": "seen", "error": "signed own mean"},
}
STOP = frozenset(  # words that say nothing of what something is made of
    re.findall(
        r"\w+",
        """the of at it is in to and an on or by for be so that this wa were with from
        as are not no ha have had their they them those these all each one two than
        then too more most only what which where when how who thi pas do doe if but
        out up get got go goe can must would will every other lambda float int len str
        si range format round sum min max list tuple name names self datum value label
        text title ink color colour light none true false any enumerate zip sorted
        figure axe""",
    )
)
# Rows whose cells are one function or one number in all columns.
ALIKE = {"claims/three_models.py table", "moe/models.py inventory"}
# One heading stands over several columns, or a cell has words of its own.
OPEN = {
    "afd/page/copies.py copies_table",
    "capacity/measured.py table",
    "kv_memory/page/tables.py terms",
    "moe/layer_time.py cache_table",
}
# Names that are said of something else than what is drawn beside them.
ELSE = {
    "afd": {
        *("  and a row once to each node", "  and the split's loads more even"),
    },
    "continuous_batching": {"whole prompts, mixed", "prefill first"},  # policies
    "deepseek": {"kind", "start", "length", "gpu_requests request", "one_batch"},
    "end_to_end": {"tokens", "ids"},
    "tensor_parallel": {"new", "compute"},
}
# Two inks of a picture whose words are not those of its code.
MIXED = {
    "afd/page/explore.py chart",
    "capacity/page/playground.py opening",
    "end_to_end/page/drawings.py heads",
    "kv_memory/page/stills.py layers",
    "speculative/page/charts.py gain",
    "speculative/page/stills.py heads",
    "symptoms/page/figures.py arrivals",
    "tensor_parallel/page/charts.py tp_time",
}
COLOURS, LOOKS = (
    ("color", "facecolor", "edgecolor"),
    ("ha", "va", "textcoords", "fontweight"),
)
WRITES = (".text", ".annotate")
FEW = 5  # words of a name; a sentence says more than what it is made of
SOURCES = [
    path for path in parts.files("**/*.py") if "Table(" in path.read_text("utf8")
]
PAGES = [
    p for p in parts.files("*/page/*.py") if p.stem not in ("questions", "__init__")
]

COUNTED = [path for path in PAGES if [*parts.counters(path)]]

TABLE = """def f():
    rows = [(each.name, f"{each.ttft_s}", f"{each.tpot_s}") for each in found]
    return Table("", ("run", "TTFT", "TPOT"), rows)"""
MARKS = 'x = (BoundMark("weights", q.weights_s), BoundMark("cache", q.cache_s))'
STILL = """def f():
    axes.plot(x, made.attention(x), color=BLUE.light)
    axes.plot(x, made.wire(x), color=GREEN.light)
    axes.text(1, 2, "attention", color=BLUE.light)
    axes.text(1, 2, "wire", color=GREEN.light)"""


def room(path: Path) -> str:
    """A file by its chapter and name, as tests of a chapter are chosen."""
    parts_ = path.relative_to(parts.PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts_ if part != "page")


def marked(text: str) -> frozenset[str]:
    """Words of a text, and its numbers."""
    bare = re.sub(r":[^{}:']*\}", "}", text).replace(",", "")
    return words(bare) | {*re.findall(r"\d+", bare)}


def headed(head: str, cell: ast.expr) -> Said:
    """What a heading says, as code says it, and what the code of a cell does."""
    also = CODE.get(" ".join(head.split()), "")
    return marked(f"{head} {also}"), marked(ast.unparse(cell))


def untold(row: Columns) -> Iterator[tuple[str, str]]:
    """Two columns of which neither is told by its heading, but for fixed words.

    Or of which one is made of what the other is called. One that is worked out from
    all that the other is made of has no word less.
    """
    told = [
        (head, headed(head, cell))
        for head, cell in zip(row.heads[1:], row.cells[1:], strict=True)
        if not isinstance(cell, ast.Constant)
    ]
    for (head, one), (other, two) in combinations(told, 2):
        right, crosswise = sides(one, two)
        bare = (one[1] - STOP, two[1] - STOP)
        within = bare[0] <= bare[1] or bare[1] <= bare[0]
        if (not right and not within) or crosswise > right:
            yield head, other


def also(name: str) -> str:
    """How code calls what a long name says; a short one says other things, too."""
    return f" {CODE.get(name, '')}" if len(name.split()) >= 3 else ""


def plain(text: str) -> frozenset[str]:
    return words(text) - STOP


def crossed(code: ast.AST) -> Iterator[tuple[str, str]]:
    """Names side by side of which one is made of what the other is called after.

    Of sentences both must be.
    """
    for group in parts.named(code):
        said = [(name, (plain(name + also(name)), plain(made))) for name, made in group]
        short = all(len(one) <= FEW for _, (one, _) in said)
        for (name, one), (other, two) in combinations(said, 2):
            right, crosswise = sides(one, two)
            least = 1 if short and all(one + two) else 2
            if crosswise >= least and not right:
                yield name, other


def inked(code: ast.AST) -> dict[str, tuple[str, str]]:
    """Of each ink of a function of a still: its words, and what is drawn in it."""
    found: dict[str, tuple[str, str]] = {}
    for call in ast.walk(code):
        if not isinstance(call, ast.Call):
            continue
        inks = [w.value for w in call.keywords if w.arg in COLOURS]
        if len(inks) == 1:
            rest = [w.value for w in call.keywords if w.arg not in (*COLOURS, *LOOKS)]
            every = [*call.args, *rest]
            words_ = [text for each in every if len(text := parts.text_of(each)) >= 3]
            shown = [] if ast.unparse(call.func).endswith(WRITES) else every
            made = [ast.unparse(each) for each in shown if not parts.text_of(each)]
            ink = ast.unparse(inks[0]).partition(".")[0]
            said, drawn = found.get(ink, ("", ""))
            found[ink] = " ".join([said, *words_]), " ".join([drawn, *made])
    return found


def recoloured(code: ast.AST) -> Iterator[tuple[str, str]]:
    """Words in two inks of which neither ink draws what its own words say."""
    both = [each for each in inked(code).values() if all(map(str.strip, each))]
    for one, other in combinations(both, 2):
        first, second = ((plain(a), plain(b)) for a, b in (one, other))
        right, crosswise = sides(first, second)
        if crosswise >= right:
            yield one[0], other[0]


def functions(*patterns: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    for path in parts.files(*patterns):
        for each in ast.walk(parts.tree(path)):
            if isinstance(each, ast.FunctionDef):
                place = path.relative_to(parts.PACKAGE).as_posix()
                yield f"{place} {each.name}", each


@pytest.mark.parametrize("path", SOURCES, ids=room)
def test_a_column_is_made_of_what_its_heading_says(path: Path) -> None:
    for place, found in parts.tables(path):
        for row in found:
            if place not in ALIKE:
                assert [pair for pair in untold(row) if place not in OPEN] == [], place


@pytest.mark.parametrize("path", COUNTED, ids=room)
def test_a_counter_is_made_of_what_its_label_says(path: Path) -> None:
    for row in parts.counters(path):
        whole = Columns(row.place, ("", *row.heads), (row.cells[0], *row.cells))
        assert list(untold(whole)) == [], row.place


def test_many_columns_are_read() -> None:
    every = [each for path in SOURCES for each in parts.tables(path)]
    assert len([place for place, found in every if found]) > 110
    assert {place for place, _ in every} >= {*ALIKE, *OPEN}
    assert len({place.split("/")[0] for place, found in every if found}) > 15


@pytest.mark.parametrize(
    "path", PAGES, ids=lambda each: f"{each.parts[-3]}.{each.stem}"
)
def test_of_two_names_neither_is_of_what_the_other_is_made_of(path: Path) -> None:
    found = {each for pair in crossed(parts.tree(path)) for each in pair}
    assert found - ELSE.get(path.parts[-3], set()) == set()


def test_words_in_an_ink_are_of_what_is_drawn_in_it() -> None:
    found = {place for place, code in functions("*/page/*.py") if [*recoloured(code)]}
    assert found == MIXED


@pytest.mark.parametrize(
    ("source", "one", "other"),
    [
        (TABLE, '"TTFT"', '"TPOT"'),
        (TABLE, "ttft_s", "tpot_s"),
        (MARKS, "weights_s", "cache_s"),
        (STILL, '"attention"', '"wire"'),
        (STILL, "made.attention", "made.wire"),
    ],
)
def test_what_changes_places_is_found(source: str, one: str, other: str) -> None:
    turned = source.replace(one, "?").replace(other, one).replace("?", other)
    for text, right in ((source, True), (turned, False)):
        code = ast.parse(text)
        found = [each for row in columns(code) for each in untold(row)]
        found += [*crossed(code), *recoloured(code)]
        assert (found == []) is right, text


def columns(module: ast.Module) -> Iterator[Columns]:
    """Rows of the tables that functions of a source make."""
    for code in ast.walk(module):
        for call in ast.walk(code) if isinstance(code, ast.FunctionDef) else ():
            if isinstance(code, ast.FunctionDef) and parts.called(call, "Table"):
                assert isinstance(call, ast.Call)
                scope = parts.bound(code, deep=True)
                yield from parts.of_table("", code, call, scope)
