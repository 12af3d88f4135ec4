"""What a person sees, each module in one medium."""
