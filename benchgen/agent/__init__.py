"""The agent: what a person writes, understood, done with the same functions as the command line, one gate over all."""
