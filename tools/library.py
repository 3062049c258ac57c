"""Write the page "The library": what a user of the package starts from.

Nothing is typed here: names, signatures, explanations and examples are those of the
package and of its docstrings, whose examples the tests run.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Any

import llmserve_lab
from llmserve_lab.engine import Order, Policy, Routing

PAGE = Path(__file__).resolve().parents[1] / "chapters" / "library.md"
PACKAGE = llmserve_lab.__name__
HEAD = """\
# The library

Everything that this book computes with can be called from a program of your own:
`pip install .` in the folder of the book, then `import llmserve_lab as ll`. Times are
in seconds and sizes in bytes; what a call refuses it names, with the rule and value.
The examples run as they stand here.

```{raw} html
<div class="filter" data-filter="library" data-what="names" hidden></div>
```
"""
ROLE = re.compile(r":\w+:`~?([^`]+)`")
FIELD = re.compile(r"^(\*{0,2}[\w.]+): ?(.*)$")
BLOCKS = {"Args:": "Arguments", "Raises:": "Raises", "Returns:": "Returns",
          "Yields:": "Yields"}  # fmt: skip
SHOWN_KEYS = 40


@dataclass(frozen=True)
class Section:
    """A heading, the module that it is about, and which of its names it lists."""

    title: str
    module: str
    lists: Callable[[str, Any], bool]
    introduced: bool = True  # by the module's docstring


CHOICES = (Policy, Order, Routing)
OUTCOMES = ("Report", "IterationLog", "IterationFrame", "IterationRecord",
            "RequestEvent", "ScheduledTokens", "ExecutedRun")  # fmt: skip
BANDS = ("Band", "Limit", "ServingConstants", "Setting", "Unmeasured", "achieved",
         "band", "datasheet_bound", "spread", "stored")  # fmt: skip


def _chooses(name: str, thing: Any) -> bool:
    return inspect.isclass(thing) and issubclass(thing, CHOICES)


SECTIONS = (
    Section("GPUs, links and models", "catalog", lambda name, _: "_table" not in name),
    Section("Formulas", "formula.formula", lambda name, _: name == "Formula"),
    Section("Requests", "workloads", lambda *_: True),
    Section(
        "A server in simulated time",
        "engine",
        lambda name, thing: name not in OUTCOMES and not _chooses(name, thing),
    ),
    Section("Who is next: policies, orders, routes", "engine", _chooses, False),
    Section("What came of a run", "engine", lambda name, _: name in OUTCOMES, False),
    Section("How wrong a prediction is", "validation", lambda name, _: name in BANDS),
)


def page() -> str:
    """The page as Markdown."""
    return "\n".join([HEAD, *start(), *(line for s in SECTIONS for line in part(s))])


def start() -> Iterator[str]:
    """The names at the top of the package, and where each is explained."""
    yield "## Where to start\n"
    yield from markdown(inspect.getdoc(llmserve_lab) or "")
    links = (
        f"[`{name}`](#{anchor(name, getattr(llmserve_lab, name))})"
        for name in llmserve_lab.__all__
    )
    yield f"At the top of the package: {', '.join(links)}.\n"


def part(section: Section) -> Iterator[str]:
    """A section: what its module says, then each name."""
    module = import_module(f"{PACKAGE}.{section.module}")
    yield f"## {section.title}\n"
    yield f"```{{index}} {', '.join(names(section))}\n```\n"
    yield f"In `{module.__name__}`.\n"
    if section.introduced:
        yield from markdown(inspect.getdoc(module) or "")
    for name in names(section):
        yield from entry(name, getattr(module, name))


def names(section: Section) -> list[str]:
    """What a section lists, in the order of the alphabet."""
    module = import_module(f"{PACKAGE}.{section.module}")
    found = getattr(module, "__all__", ("Formula",))
    listed = (name for name in found if section.lists(name, getattr(module, name)))
    return sorted((each for each in listed if documented(getattr(module, each))),
                  key=str.lower)  # fmt: skip


def documented(thing: Any) -> bool:
    """Whether there is something to say: no single number, no type of another."""
    return callable(thing) or isinstance(thing, Mapping)


def anchor(name: str, thing: Any) -> str:
    """Where the entry of a name is; a class and a function may differ in case alone."""
    kind = "class-" if inspect.isclass(thing) else ""
    return f"library-{kind}{name.replace('_', '-').lower()}"


def entry(name: str, thing: Any) -> Iterator[str]:
    """A name with its signature, its docstring and its public members."""
    yield f"({anchor(name, thing)})="
    yield f"**{name}**"
    lines = [*told(name, thing), *members(thing)]
    yield f": {lines[0].strip()}\n"
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines[1:]).strip())
    yield "\n".join(f"  {line}".rstrip() for line in text.splitlines()) + "\n"


def told(name: str, thing: Any) -> Iterator[str]:
    """Signature and docstring, or what a table holds."""
    if isinstance(thing, Mapping):
        yield "A table of records by key:\n"
        yield ", ".join(f"`{key}`" for key in [*thing][:SHOWN_KEYS]) + "."
        return
    yield f"`{name}{signature(thing)}`\n"
    yield from markdown(inspect.getdoc(thing) or "")


def signature(thing: Any) -> str:
    """Arguments and defaults; what they mean is in the docstring."""
    try:
        found = inspect.signature(thing)
    except ValueError:
        return "(…)"
    bare = [
        each.replace(annotation=inspect.Parameter.empty)
        for each in found.parameters.values()
        if not each.name.startswith("_")
    ]
    text = str(found.replace(parameters=bare,
                             return_annotation=inspect.Signature.empty))  # fmt: skip
    return re.sub(r"<[^<>]*>|mappingproxy\(.*?\)(?=[,)])", "…", text)


def members(thing: Any) -> Iterator[str]:
    """Public methods and properties that the class, or a parent of ours, defines."""
    if not inspect.isclass(thing):
        return
    found: dict[str, Any] = {}
    for kind in thing.__mro__:
        if kind.__module__.startswith(PACKAGE):
            found = {**vars(kind), **found}
    fields = getattr(thing, "__dataclass_fields__", {}) if is_dataclass(thing) else {}
    shown = {
        name: summary(member)
        for name, member in found.items()
        if not name.startswith("_") and name not in fields and summary(member)
    }
    if shown:
        yield "\nMembers:\n"
        yield from (f"- `{name}`: {text}" for name, text in sorted(shown.items()))


def summary(member: Any) -> str:
    """The first sentence of a docstring, empty for what has none of its own."""
    own = getattr(member, "__func__", getattr(member, "func", member))
    if not isinstance(own, property) and not inspect.isroutine(own):
        return ""
    return inline((inspect.getdoc(own) or "").split("\n\n")[0].replace("\n", " "))


def inline(text: str) -> str:
    """Roles and double backticks as code; nothing else is a sign of Markdown."""
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
    text = ROLE.sub(lambda match: f"`{match[1].rpartition('.')[2]}`", text)
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        each if each.startswith("`") else re.sub(r"([$<|])", r"\\\1", each)
        for each in parts
    )


def markdown(docstring: str) -> Iterator[str]:
    """A docstring as paragraphs, examples, and lists of arguments and errors."""
    for block in re.split(r"\n\s*\n", docstring.strip()):
        lines = block.splitlines()
        if lines[0].startswith(">>> "):
            yield "\n".join(["```python", *lines, "```", ""])
        elif lines[0] in BLOCKS:
            yield f"{BLOCKS[lines[0]]}:\n"
            yield from fields_of(dedent("\n".join(lines[1:])))
            yield ""
        else:
            yield inline(" ".join(map(str.strip, lines))) + "\n"


def fields_of(text: str) -> Iterator[str]:
    """``name: meaning`` entries, each of which may go on in indented lines."""
    for each in re.split(r"\n(?! )", text):
        said = " ".join(map(str.strip, each.splitlines()))
        named = FIELD.match(said)
        yield f"- `{named[1]}`: {inline(named[2])}" if named else f"- {inline(said)}"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf8", newline="\n")
    print(f"wrote {PAGE.name}")
    sys.exit(0)
