"""Trainings that run beside a page, and the films that they leave."""
