"""Browser components, each in its own folder of Python, JavaScript and CSS. A component draws and returns its picture
and is independent of handouts."""
