"""Draw the picture of README.md from the chapter's own figure, on white paper."""

from pathlib import Path

from llmserve_lab.page.palette import on_paper
from llmserve_lab.roofline.page.figures import roofline

PICTURE = Path(__file__).resolve().parents[1] / "assets" / "roofline.svg"


def picture() -> str:
    """The roofline at its defaults as an SVG document with a white ground."""
    svg = on_paper(roofline().picture())
    start = svg.index(">", svg.index("<svg")) + 1
    paper = '<rect width="100%" height="100%" fill="white"/>'
    return svg[:start] + paper + svg[start:] + "\n"


if __name__ == "__main__":
    PICTURE.write_text(picture(), "utf8", newline="\n")
    print(f"wrote {PICTURE.name}")
