"""Does attention explain an answer? The texts to ask it of, and what measures of importance are worth over them."""
