"""The command line's verbs: their words, their line as typed, their Hydra job, and what each does."""

from benchgen.verbs.help import help_text
from benchgen.verbs.words import KEYS, VERB_KEYS, VERBS, Verb

__all__ = ["KEYS", "VERBS", "VERB_KEYS", "Verb", "help_text"]
