"""What the lesson pages compute: pure functions of arrays, numpy in and numpy out; torch, where equation (1) is asked,
inside the functions."""
