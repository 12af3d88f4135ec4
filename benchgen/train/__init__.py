"""Training: LoRA fine-tuning with trl and peft. Needs torch and the trl stack only."""
