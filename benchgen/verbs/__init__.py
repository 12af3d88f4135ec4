"""The command line's verbs: their words, their line as typed, their Hydra job, and what each does."""

from benchgen.verbs.words import KEYS, VERB_KEYS, VERBS, Verb, help_text

__all__ = ["KEYS", "VERBS", "VERB_KEYS", "Verb", "help_text"]
