"""Live figures: a Vega-Lite chart, its controls and its readouts."""
