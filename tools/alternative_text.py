"""Find the pictures in a piece of HTML that a reader who cannot see them would miss."""

from html.parser import HTMLParser

from llmserve_lab.page.alone import CLASS

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta"}
PICTURES = {"img", "svg", "canvas"}

Attributes = dict[str, str | None]


class Pictures(HTMLParser):
    """Walks the tags; `missing` collects pictures that nothing describes."""

    def __init__(self) -> None:
        super().__init__()
        self.missing: list[str] = []
        self.open: list[tuple[str, bool]] = []  # tag, and whether it is covered

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open `tag`; its children are covered when it is described or hidden."""
        covered = bool(self.open) and self.open[-1][1]
        named = described(tag, dict(attrs))
        if tag in PICTURES and not (covered or named):
            self.missing.append(self.get_starttag_text() or tag)
        if tag not in VOID:
            image = tag in PICTURES or dict(attrs).get("role") == "img"
            hidden = dict(attrs).get("aria-hidden") == "true"
            self.open.append((tag, covered or hidden or (image and named)))

    def handle_endtag(self, tag: str) -> None:
        """Close `tag` and whatever was left open inside it."""
        names = [name for name, _ in self.open]
        if tag in names:
            del self.open[len(names) - 1 - names[::-1].index(tag) :]


def described(tag: str, attributes: Attributes) -> bool:
    """Whether this element itself says what it shows, or that it need not."""
    if attributes.get("aria-hidden") == "true":
        return True
    if attributes.get("class") == CLASS:  # the drawing once more, which is described
        return True
    if tag == "img":
        return bool((attributes.get("alt") or "").strip())
    label = attributes.get("aria-label") or attributes.get("aria-labelledby")
    return bool((label or "").strip())


def without_alternative(html: str) -> list[str]:
    """Opening tags of the pictures in `html` that have no alternative text."""
    walk = Pictures()
    walk.feed(html)
    return [tag[:80] for tag in walk.missing]
