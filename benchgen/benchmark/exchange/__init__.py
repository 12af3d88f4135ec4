"""Benchmarks in the formats of other tools, and back: a module a format, `formats` to choose one by name."""
