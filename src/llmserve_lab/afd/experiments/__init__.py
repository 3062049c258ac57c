"""Studies: the paper's setup, replications, random settings, real traces."""
