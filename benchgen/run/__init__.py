"""One model on one benchmark: asking the questions (`runner`) and adding up the answers (`metrics`)."""
