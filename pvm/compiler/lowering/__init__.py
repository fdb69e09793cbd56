"""What the gate would refuse, written out in plain statements."""
