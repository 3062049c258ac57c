"""A bench names Binder in a book that has a button for it, and in no other."""

from llmserve_lab.page.build.launch import address, launched
from llmserve_lab.page.html import escape
from llmserve_lab.page.widget import START

PUBLISHED = {
    "repository_url": "https://github.com/someone/book",
    "repository_branch": "main",
    "launch_buttons": {"binderhub_url": "https://mybinder.org"},
}


def test_without_a_launch_button_there_is_no_address() -> None:
    for left_out in PUBLISHED:
        theme = {key: PUBLISHED[key] for key in PUBLISHED if key != left_out}
        is_known = left_out == "repository_branch"
        assert bool(address(theme, "chapters/roofline")) is is_known
    assert address({}, "chapters/roofline") == ""
    assert address(PUBLISHED | {"repository_url": "https://x.org/a/b"}, "intro") == ""


def test_the_address_opens_the_notebook_of_the_page() -> None:
    assert address(PUBLISHED, "chapters/roofline") == (
        "https://mybinder.org/v2/gh/someone/book/main"
        "?urlpath=lab/tree/chapters/roofline.ipynb"
    )


def test_the_link_stands_behind_how_a_bench_is_started_here() -> None:
    body = f'<p class="bench-start">{escape(START)}</p>'
    assert "Binder" not in START
    assert launched("<p>no bench</p>", "a") == "<p>no bench</p>"
    assert launched(body, "a?b&c") == (
        f'<p class="bench-start">{escape(START)} Or '
        '<a href="a?b&amp;c">open this chapter on Binder</a> and run it there.</p>'
    )
