"""What the kernel refuses this process, and the alarm for whatever an actor does."""
