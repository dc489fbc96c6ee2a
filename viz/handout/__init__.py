"""A collection of figures to teach from: kept with what they draw, put in order, written as one HTML file that works
offline.

`build` makes figures of what is on screen, `files` saves and loads a handout, and both have `schema` check what enters;
`saved` reads a figure's messages back for its caption and its picture on paper, `page` writes the HTML, `store`
remembers the handouts of a server's visitors. `sheet` and `lesson_notebook` make what a lesson is taken away as. """
