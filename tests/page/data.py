"""The data of a built page, as its scripts read them."""

from __future__ import annotations

import json
import re
from typing import Any

HOLDER = re.compile(r'<script type="text/plain" class="phrases">(.*?)</script>', re.S)


def held(page: str, kind: str) -> Any:
    """The data of one kind of a page's HTML, its phrases spelled out."""
    _, _, rest = page.partition(f'<script type="application/json" class="{kind}">')
    text = rest.partition("</script>")[0]
    lines = [line for each in HOLDER.findall(page) for line in each.split("\n")]
    phrases = {line[0]: line[1:] for line in lines}
    while any(letter in phrases for letter in text):
        text = "".join(phrases.get(letter, letter) for letter in text)
    return json.loads(text)
