"""The model of pictures: handwritten digits, canvases of them, how it reads one, what its heads do."""
