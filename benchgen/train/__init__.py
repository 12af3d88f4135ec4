"""Training: torch and the trl stack only, so that a bare GPU machine can run it."""
