"""Workloads: what arrives, checked against the laws and the formats it claims."""
