"""Write the HTML pages that are saved as files: handouts, notebook outputs, sheets and the page in the browser.

A page contains everything that it needs. Messages are zlib-compressed base64, and JSON is written without "<". The
content security policy only allows scripts with listed hashes and forbids all requests, so even an escaping error could
not run code. The head is valid XML, which word processors require.
"""
import base64
import hashlib
import html
import json
import re
import zlib
from collections.abc import Sequence

from clearhead.viz.components.bundle import component_style, program

Script = tuple[str, str]   # its attributes and its text


def document(title: str, style: str, body: str, scripts: Sequence[Script] = (), *, head: str = "",
             rules: str = "") -> bytes:
    """Return the page as an HTML file. body: HTML. head: more elements of the head. rules: of the policy, besides the
    usual ones."""
    for _, text in scripts:
        if re.search(r"</script|<!--", text, re.IGNORECASE):
            raise ValueError("a script that would end its own element: escape what it quotes")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}{rules}"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="generator" content="Clearhead"/>
<title>{html.escape(title)}</title>
<style>{style}</style>
{head}</head>
<body>
{body}
{"".join(f"<script{attributes}>{text}</script>" for attributes, text in scripts)}
</body>
</html>
""".encode("utf-8", "replace")


def _policy(scripts: Sequence[Script]) -> str:
    """Return a content security policy that allows these scripts and no requests."""
    digests = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
                       for _, text in scripts)
    return (f"default-src 'none'; script-src {digests}; style-src 'unsafe-inline'; img-src data: blob:; "
            "base-uri 'none'; form-action 'none'")


def module_script(start: str, components: Sequence[str]) -> Script:
    """Return the script that calls the function `start` of a module with these components by name."""
    given = ", ".join(f'{name}: {{ ...modules["{name}/{name}.js"], css: {as_json(component_style(name))} }}'
                      for name in components)
    return ' type="module"', program(start, f"{{{given}}}", more=[f"{name}/{name}.js" for name in components])


def as_json(value: object) -> str:
    """Return JSON that can be embedded in an HTML element, because it cannot end the element."""
    return json.dumps(value, ensure_ascii=True).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def packed(message: bytes) -> str:
    """Return a message as a page contains it: compressed, in base64."""
    return base64.b64encode(zlib.compress(message)).decode()
