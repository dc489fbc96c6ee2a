"""One question about heads a file or a folder: what is asked, what is answered, and the arithmetic between. numpy
only."""
