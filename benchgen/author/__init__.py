"""Authors: each turns its material into `Question`s whose keys can be trusted; all go through `write`."""
