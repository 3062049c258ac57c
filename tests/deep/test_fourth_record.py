"""The record of the fourth trial and of its form's fit, computed again: minutes."""

from llmserve_lab.validation import fourth_trial, launch_fit
from llmserve_lab.validation.__main__ import apart


def test_the_fourth_record_is_what_the_fit_gives_now() -> None:
    known = fourth_trial.fourth_record()
    assert not [*apart(launch_fit.recorded(), known["launches"])]
    assert not [*apart(fourth_trial.recorded(), known["fourth trial"])]
