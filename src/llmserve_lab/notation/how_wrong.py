"""How far a prediction is off."""

from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.notation.kinds import Positive

predicted_s = Positive(r"t_{\mathrm{pred}}", "s", "predicted time")
relative_error = Quantity(
    r"\varepsilon",
    "dimensionless",
    "relative error: how far the prediction is above the measurement, as a share of it",
    minimum=-1.0,
)
