"""What may be said in the language, with a reason for each refusal."""
