"""The records themselves: accelerators, links, models, precisions, efficiencies."""
