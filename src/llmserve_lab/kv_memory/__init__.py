"""Memory for keys and values: what fits, blocks, sharing, preemption, routing."""
