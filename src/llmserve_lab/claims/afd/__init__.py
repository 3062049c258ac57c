"""The AFD paper: its model, its theorem, its experiment and its appendix."""

from llmserve_lab.claims.afd import coefficients, experiment, loads, ratios, system

CLAIMS = (
    *loads.CLAIMS,
    *ratios.CLAIMS,
    *experiment.CLAIMS,
    *system.CLAIMS,
    *coefficients.CLAIMS,
)
