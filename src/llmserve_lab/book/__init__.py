"""How a formula becomes a page: notation, formula, live figure, question, claim."""
