"""Handouts: ordered collections of figures for teaching, stored with their data and exported as one HTML file that
works offline.

`build` creates figures from the screen, `files` saves and loads a handout, and `schema` validates both. `saved` decodes
a figure's messages for its caption and its printed picture, `page` writes the HTML, and `store` keeps the handouts of a
server's visitors. `sheet` and `lesson_notebook` create a lesson's downloads.
"""
