"""A collection of figures to teach from: kept with what they draw, put in order, written as one HTML file that works
offline.

`item.Item` is one figure. `pictures` and `charts` say what an item's numbers may be, whoever wrote them; `files` saves
and loads a handout, `page` writes the HTML, `print_svg` the vector pictures that are printed, `store` remembers the
handouts of a server's visitors. `sheet` and `lesson_notebook` make what a lesson is taken away as. """
