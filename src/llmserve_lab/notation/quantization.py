"""Fewer bytes: codes, scales of groups, and what a step costs with few bits."""

from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.notation.kinds import Count, Positive, Share

code_bits = Count(r"b_{\mathrm{code}}", "dimensionless", "bits of a code")
scale_bits = Quantity(r"b_{\sigma}", "dimensionless", "bits of a stored scale")
group_size = Count(r"n_{\sigma}", "dimensionless", "numbers that share a scale")
eff_bits = Positive(
    r"b_{\mathrm{eff}}", "dimensionless", "bits of a number, its share of a scale in it"
)
group_max = Positive(
    r"a_{\max}", "dimensionless", "largest magnitude in a group, sign left out"
)
largest_code = Positive(
    r"q_{\max}", "dimensionless", "largest number that a code stands for"
)
group_scale = Positive(r"\sigma", "dimensionless", "scale of a group")
rounding_bound = Positive(
    r"\delta_{\max}", "dimensionless", "largest rounding error of an integer format"
)
bytes_quantized = Positive(
    "w_q", "byte/parameter", "bytes of a quantized parameter, scale included"
)
low_peak_flops = Positive(
    r"C_{\mathrm{low}}",
    "FLOP/s",
    "datasheet peak of the format in which the linear layers multiply",
)
peak_exponent = Share(
    r"\eta", "dimensionless", "power of a higher peak that served machines reach"
)
products_s = Positive(
    r"t_{\mathrm{prod}}", "s", "time of the products, reading of the weights included"
)
few_bits_step_s = Positive(
    r"t_{\mathrm{few}}", "s", "time of a decode step with few bits"
)
token_space_bytes = Quantity(
    r"M_{\mathrm{tok}}", "byte", "working space for the tokens of a batch"
)
library_bytes = Quantity(
    r"M_{\mathrm{lib}}", "byte", "working space of a GPU's libraries"
)
slot_bytes = Quantity(
    r"Q_{\mathrm{slot}}", "byte/request", "working space of a request's slot"
)
wide_step_s = Positive(r"t_{16}", "s", "time of the same decode step with 16 bits")
few_bits_gain = Positive(
    r"G_{\mathrm{few}}", "dimensionless", "speedup of a decode step by fewer bits"
)
