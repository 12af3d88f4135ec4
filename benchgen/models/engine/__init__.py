"""Decoding and scoring on this machine's own device: batches, caches, likelihoods. Loads torch.

A prompt goes `groups` (what is computed once) -> `batch` (keys and values) -> `decode` or `likelihood`.
"""
