"""The machine: what a datasheet promises, and the share of it that is reached."""

from llmserve_lab.notation.kinds import Positive, Share

peak_flops = Positive(r"C_{\mathrm{peak}}", "FLOP/s", "datasheet peak compute")
hbm_bw = Positive(r"W_{\mathrm{hbm}}", "byte/s", "datasheet memory bandwidth")
hbm_bytes = Positive(r"M_{\mathrm{hbm}}", "byte", "memory capacity")
eff_compute = Share("e_c", "dimensionless", "share of peak compute reached")
eff_mem = Share("e_m", "dimensionless", "share of memory bandwidth reached")
