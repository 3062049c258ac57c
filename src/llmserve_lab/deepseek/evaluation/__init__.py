"""Predictions beside published runs: errors, attribution, ablations, caveats."""
