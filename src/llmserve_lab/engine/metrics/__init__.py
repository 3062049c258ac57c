"""Serving metrics: TTFT, inter-token latency, utilization, traces, reports."""
