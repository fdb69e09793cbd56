"""What the kernel refuses the process that executes actors, and an alarm."""
