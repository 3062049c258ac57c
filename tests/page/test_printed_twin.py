"""Numbers that cells of the chapter on the twin print, counted by plain loops."""

from llmserve_lab.deepseek.executed import exercise
from tests.page.messages_loops import best_eight, reached
from tests.page.test_printed_runs import says

CHAPTER = "deepseek_twin"


def test_an_unrestricted_choice_reaches_more_nodes_than_it_may() -> None:
    most, mean, _ = reached(best_eight)
    words = "not yet: a row reaches # nodes, # on average; it may reach # at most."
    assert says(CHAPTER, words, most, mean, 4)


def test_the_best_nodes_keep_nearly_all_of_the_affinity() -> None:
    most, mean, kept = reached(exercise.within_nodes)
    words = "well done: # nodes on average, # at most, and # of the affinity is kept."
    assert says(CHAPTER, words, mean, most, kept / 100)
