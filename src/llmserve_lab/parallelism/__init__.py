"""Pipeline, sequence, context and data parallelism: which axis for which phase."""
