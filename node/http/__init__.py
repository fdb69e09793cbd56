"""The HTTP port: health, metrics for Prometheus, who may ask there for more."""
