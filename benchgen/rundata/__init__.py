"""What a finished run shows: views of its traces, and training rows made from them."""
