"""How a benchmark asks and how it scores: prompt rendering, the scoring program, and their freezing."""
