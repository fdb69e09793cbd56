"""What may be said in the language, and a reason for each refusal."""
