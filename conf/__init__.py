"""The config tree, importable as `benchgen.conf`."""
