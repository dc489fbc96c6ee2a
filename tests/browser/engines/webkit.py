"""WebKit, Safari's engine: Debian's WebKitGTK on a virtual screen, driven by selenium."""
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from selenium.webdriver import Remote
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.remote.client_config import ClientConfig
from selenium.webdriver.remote.remote_connection import RemoteConnection
from selenium.webdriver.webkitgtk.options import Options
from selenium.webdriver.webkitgtk.service import Service

from tests.browser.engines.engine import HIGH, WIDE, Engine

# draw in software, and without the sandbox, which does not work for root, the only user in a container
SETTINGS = {"LIBGL_ALWAYS_SOFTWARE": "1", "WEBKIT_DISABLE_DMABUF_RENDERER": "1", "WEBKIT_DISABLE_COMPOSITING_MODE": "1",
            "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1", "GDK_BACKEND": "x11", "NO_AT_BRIDGE": "1"}
# WebKit's driver does not report the console, so the page itself records errors
LISTEN = """() => {
  window.wrong = [];
  console.error = (...said) => window.wrong.push(said.join(" "));
  // that sizes change once more within a frame is told to every page and is no fault
  window.addEventListener("error", (event) => event.message?.startsWith("ResizeObserver loop")
    || window.wrong.push(event.message ?? `not loaded: ${event.target.src ?? event.target.href}`), true);
  window.addEventListener("unhandledrejection", (event) => window.wrong.push(String(event.reason)));
  document.addEventListener("securitypolicyviolation", (event) =>
    window.wrong.push(`refused: ${event.blockedURI} ${event.violatedDirective}`));
}"""
# load a page and write it into the document after adding the listeners, so that they run first
WRITE = """async (listen, path) => {
  const html = await (await fetch(path)).text();
  history.pushState(null, "", path);
  document.open();
  listen();
  document.write(html);
  document.close();
}"""


class WebKit(Engine):
    """WebKitGTK. browser: path of its MiniBrowser; WebKitWebDriver and Xvfb must be on the PATH."""

    def __init__(self, browser: str):
        self.screen = subprocess.Popen(["Xvfb", "-displayfd", "1", "-screen", "0", "1600x1200x24", "-nolisten", "tcp"],
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8")
        assert self.screen.stdout
        options = Options()
        options.binary_location = browser
        options.add_argument("--automation")
        self.service = Service(executable_path=shutil.which("WebKitWebDriver"), log_output=subprocess.DEVNULL,
                               env=os.environ | SETTINGS | {"DISPLAY": f":{self.screen.stdout.readline().strip()}"})
        self.service.start()
        self.driver = Remote(RemoteConnection(client_config=ClientConfig(self.service.service_url)), options=options)
        self.driver.set_script_timeout(60)
        self.driver.set_window_size(WIDE, HIGH)
        self.driver.set_window_size(WIDE, 2 * HIGH - self.run("() => innerHeight"))

    def open(self, address: str) -> None:
        parts = urlsplit(address)
        self.driver.get("about:blank")   # a URL that only differs in its fragment would not be loaded
        if parts.scheme == "file":
            self.driver.get(_heard(Path(url2pathname(parts.path))).as_uri()
                            + (f"#{parts.fragment}" if parts.fragment else ""))
            return
        self.driver.get(f"{parts.scheme}://{parts.netloc}/_stcore/health")   # a page of the same origin
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        self.run(f"() => ({WRITE})({LISTEN}, {json.dumps(path)})")

    def run(self, script: str) -> Any:
        return self.driver.execute_script(f"return ({script})()")

    def pointer(self, *steps: tuple[str, float, float]) -> None:
        chain = ActionChains(self.driver, duration=20)
        for kind, x, y in steps:
            act = chain.w3c_actions.pointer_action
            act.move_to_location(round(x), round(y))
            if kind != "move":
                (act.pointer_down if kind == "down" else act.pointer_up)()
        chain.perform()

    def wrong(self) -> list[str]:
        return self.run("() => window.wrong.splice(0)")

    def close(self) -> None:
        self.driver.quit()
        self.service.stop()
        self.screen.terminate()
        self.screen.communicate(timeout=20)


def _heard(page: Path) -> Path:
    """Write a copy of the page whose listeners run before its content security policy applies; return its path."""
    html = page.read_text(encoding="utf-8").replace("<meta http-equiv",
                                                    f"<script>({LISTEN})()</script><meta http-equiv", 1)
    heard = page.with_name(f"heard-{page.name}")
    heard.write_text(html, encoding="utf-8")
    return heard
