"""What cannot be is refused: a promise that one request breaks, a link with no port."""

from itertools import product

import pytest

from llmserve_lab.catalog import ACCELERATORS, LINKS
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation.page import figures
from llmserve_lab.disaggregation.page.controls import STOPS
from llmserve_lab.disaggregation.served import known, load, value


def test_no_rate_where_a_request_alone_takes_longer_than_promised() -> None:
    promises, refused = figures.promises(), 0
    for prompt, answer, promise_s in product(
        *(
            STOPS[name]
            for name in (
                "prompt_len",
                "new_tokens",
                "tpot_target",
            )
        )
    ):
        size = load(prompt, answer, promise_s)
        alone_s = value(f.DECODE_STEP_S, known(size), decode_batch=1.0)
        at = {k: v for k, v in size.items() if k in STOPS}
        found = promises.refused(promises.values(**at))
        assert found == (alone_s > promise_s), at
        assert ("cannot be kept" in promises.caption(**at)) == found
        refused += found
    assert 0 < refused < 30


def test_a_link_goes_with_the_gpus_that_have_a_port_for_it() -> None:
    links = figures.links()
    gpus = {each.name: each for each in ACCELERATORS.values()}
    options = {c.name: c.options for c in links.controls if hasattr(c, "options")}
    for name, gpu in product(options["link"], options["accelerator"]):
        link = next(each for each in LINKS.values() if each.name == name)
        own = LINKS[gpus[gpu].scale_up]
        if link.scope == "scale-up" and link != own:
            with pytest.raises(ValueError, match="has no value"):
                links.values(link=name, accelerator=gpu)
        elif link.scope != "host":
            assert name in links.caption(link=name, accelerator=gpu)
    with pytest.raises(ValueError, match="has no value"):
        links.values(link="PCIe Gen5 x16", accelerator="L40S")
    assert "Gen4" in links.caption(link="PCIe Gen4 x16", accelerator="L40S")
