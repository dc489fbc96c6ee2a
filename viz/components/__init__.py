"""Components that run in the browser, one folder each, of Python, JavaScript and CSS. A component draws and returns its
picture; it does not know about handouts."""
