"""`python -m node` is `cowboy-devnet`."""

from node.cli import main

if __name__ == "__main__":
    main(prog_name="cowboy-devnet")
