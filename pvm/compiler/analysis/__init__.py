"""What a source's tree alone tells: lost writes, leaf functions."""
