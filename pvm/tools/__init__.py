"""For authors of actors: profiles, coverage, prices of blocks, reports."""
