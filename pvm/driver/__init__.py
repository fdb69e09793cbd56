"""Where compiler, runtime and modules meet: actors are compiled and executed."""
