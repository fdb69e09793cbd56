"""`cowboy-devnet dev`: actors that are deployed again when their files are saved."""
