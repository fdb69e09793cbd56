"""For authors of actors: reports of a source, profiles, coverage, a debugger."""
