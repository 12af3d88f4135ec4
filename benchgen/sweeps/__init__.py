"""Sweeps as they lie in a workspace: a folder with its jobs, and the report made of them."""
