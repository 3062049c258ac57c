"""Cost, service levels and capacity: what serving costs, and how many GPUs it takes."""
