"""How many Attention machines for one FFN machine? Theory, simulators, correction."""
