"""The operators' port: health, readiness, and metrics for Prometheus."""
