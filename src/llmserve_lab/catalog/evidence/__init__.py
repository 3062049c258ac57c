"""Published measurements, to stand beside what a formula predicts."""
