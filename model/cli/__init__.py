"""The commands of clearhead."""
