"""A question as HTML: a field to answer in, and the explanation folded away."""

from __future__ import annotations

from typing import Any

from llmserve_lab.formula.text import said
from llmserve_lab.page.html import bootstrap, escape, inline, prose, tag, veiled
from llmserve_lab.page.question import judge
from llmserve_lab.page.question.question import LETTERS, Question, text_of

TITLES = {"predict": "Predict before you look", "check": "Check yourself"}


def question_html(question: Question) -> str:
    """The whole question: without scripts the prompt and its folded explanation."""
    key = f"question-{question.name}"
    math = "question-text tex2jax_process mathjax_process"
    body = [
        tag("p", TITLES[question.kind], class_="question-kind", id=f"{key}-kind"),
        tag("div", prose(text_of(question.prompt)), class_=math, id=f"{key}-prompt"),
        _form(question, key),
        tag("details", _why(question), class_=math),
        bootstrap(),
    ]
    return tag(
        "div",
        "\n".join(body),
        class_="question",
        id=key,
        role="group",
        aria_labelledby=f"{key}-kind",
        data_name=question.name,
        data_veiled=veiled(question_data(question), question.name),
    )


def _why(question: Question) -> str:
    return tag("summary", "Answer and explanation") + prose(text_of(question.why))


def question_data(question: Question) -> dict[str, Any]:
    """What the page needs to judge an answer, in the question's own unit."""
    numeric = not question.choices
    base = question.unit or "dimensionless"
    return {
        "answer": question.right,
        "tol": question.rel_tol,
        "hints": judge.hints(question),
        "hint_tol": judge.HINT_TOL,
        "kind": question.kind,
        "unit": base,
        "asked": question.shown_unit,
        "scale": judge.scale_of(question.shown_unit, base) if numeric else 1.0,
        "said": said(question.right, question.unit) if numeric else "",
        "say": {
            "right": judge.RIGHT,
            "high": judge.HIGH,
            "low": judge.LOW,
            "other": judge.OTHER,
            "unreadable": judge.UNREADABLE,
        },
    }


def _form(question: Question, key: str) -> str:
    """The fields, hidden until the runtime can judge what is written into them."""
    fields = _choices(question, key) if question.choices else _field(question, key)
    button = tag("button", "Check", type="submit")
    more = tag("button", "Show the solution", type="button", hidden=True)
    legend = tag("legend", "Your answer")
    fieldset = tag("fieldset", legend + fields, aria_describedby=f"{key}-prompt")
    result = tag("p", "", class_="question-result", role="status", aria_live="polite")
    row = tag("div", button + more, class_="question-buttons")
    return tag("form", fieldset + row + result, hidden=True, novalidate=True)


def _field(question: Question, key: str) -> str:
    unit = question.unit_label
    field = tag(
        "input",
        id=f"{key}-field",
        name="answer",
        type="text",
        autocomplete="off",
        spellcheck="false",
        aria_label=f"Your answer in {unit}" if unit else "Your answer",
    )
    return field + (tag("span", escape(unit), class_="question-unit") if unit else "")


def _choices(question: Question, key: str) -> str:
    rows = []
    for i, (letter, text) in enumerate(zip(LETTERS, question.choices, strict=False)):
        radio = tag(
            "input", id=f"{key}-{letter}", type="radio", name="answer", value=str(i)
        )
        label = tag("label", f"({letter}) {inline(text)}", for_=f"{key}-{letter}")
        rows.append(tag("div", radio + label, class_="question-choice"))
    return "".join(rows)
