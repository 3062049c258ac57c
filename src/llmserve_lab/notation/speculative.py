"""Speculative decoding: drafts, how many are kept, and what a pass then costs."""

from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.notation.kinds import Count, Positive, Share

accept_rate = Share(r"\alpha", "dimensionless", "chance that the first draft is kept")
accept_fall = Share(
    r"r_{\alpha}",
    "dimensionless",
    "factor by which that chance falls from one draft to the next",
)
draft_place = Count("v", "dimensionless", "place of a draft in its chain, from 1 on")
survival = Quantity(
    "s_{v}",
    "dimensionless",
    "chance that this draft and all before it are kept",
    maximum=1,
)
draft_cost = Quantity(
    r"c_{\mathrm{d}}",
    "dimensionless",
    "time of a draft pass over that of a plain decode pass",
)
plain_linear_s = Positive(
    r"t_{\mathrm{lin}}^{1}", "s", "time to compute the linear layers without drafts"
)
plain_pairs_s = Positive(
    r"t_{\mathrm{att}}^{1}", "s", "time to compute attention without drafts"
)
plain_pass_s = Positive(r"t_{1}", "s", "time of a decode pass without drafts")
verify_s = Positive(
    r"t_{\mathrm{v}}", "s", "time of the pass that verifies the drafts of the batch"
)
speculative_s = Positive(r"t_{\mathrm{spec}}", "s", "time to draft and verify once")
speculative_speedup = Positive(
    r"S_{\mathrm{spec}}", "dimensionless", "tokens per second over those without drafts"
)
accepted_needed = Positive(
    r"a_{\mathrm{even}}",
    "token/request",
    "tokens that a pass must yield for speculation to break even",
)
