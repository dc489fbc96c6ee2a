"""What runs in the browser, one folder each: Python, JavaScript and CSS. A component draws and hands back its picture;
it knows no handout."""
