"""The same worlds under every set of timer rules: what each does to whom."""
