"""What can be told of a source from its tree alone."""
