"""A collection of figures for teaching: stored with their data, put in order, and exported as one HTML file that works
offline.

`build` creates figures from what is on screen, `files` saves and loads a handout, and both validate input with
`schema`. `saved` reads a figure's messages for its caption and its printed picture, `page` writes the HTML, and `store`
holds the handouts of a server's visitors. `sheet` and `lesson_notebook` create a lesson's downloads.
"""
