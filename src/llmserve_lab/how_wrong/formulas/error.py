"""Relative error, both ways round: from a measurement, and back to one."""

from llmserve_lab.formula.formula import Formula
from llmserve_lab.notation import measured_s, relative_error

RELATIVE_ERROR = Formula(
    result=relative_error,
    expr=lambda predicted_s, measured_s: predicted_s / measured_s - 1,
    title="Relative error of a predicted time",
    source="definition",
    holds="always; above zero where the prediction is too long",
)
MEASURED_S = Formula(
    result=measured_s,
    expr=lambda predicted_s, relative_error: predicted_s / (1 + relative_error),
    title="What would be measured, if the error is so large",
    source="[relative_error](#eq-relative_error), solved for the measurement",
    holds="the error is above −100 %",
)
