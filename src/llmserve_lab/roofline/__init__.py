"""The roofline: which of two bills, bytes or FLOPs, an iteration has to pay."""
