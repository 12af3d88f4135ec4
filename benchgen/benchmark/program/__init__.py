"""A scoring program: standard library only, no import from outside this folder. Entry: score.py."""
