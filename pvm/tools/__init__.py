"""For authors of actors: profiles, prices of blocks, reports."""
