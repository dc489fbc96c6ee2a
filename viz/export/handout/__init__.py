"""Handouts: ordered collections of figures for teaching, stored with their data and exported as one HTML file that
works offline.

`build` creates entries from the screen; `values` is what an entry can hold besides a picture
(viz/components/picture.py), and reads all of them from a file; `files` saves and loads a handout, `page` writes its
HTML, and `store` keeps the handouts of a server's visitors. `photograph` takes the pictures of screens, and `pdf`
prints. `sheet` and `lesson_notebook` create a lesson's downloads.
"""
