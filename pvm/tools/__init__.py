"""What looks at actors for their authors: profiles, prices of blocks, reports."""
