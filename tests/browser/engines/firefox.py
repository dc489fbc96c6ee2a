"""Debian's Firefox, which supports WebDriver BiDi without a driver: https://w3c.github.io/webdriver-bidi."""
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from websocket import create_connection

from tests.browser.engines.engine import HIGH, PATIENCE, WIDE, Engine

# preferences: no requests to other machines, a low frame rate, and cached bytecode after the first load
QUIET = {"layout.frame_rate": 10, "dom.script_loader.bytecode_cache.strategy": -2, "app.normandy.enabled": False,
         "app.update.enabled": False, "browser.safebrowsing.update.enabled": False,
         "browser.shell.checkDefaultBrowser": False, "browser.startup.page": 0,
         "datareporting.policy.dataSubmissionEnabled": False, "extensions.update.enabled": False,
         "network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False,
         "services.settings.server": "data:,", "toolkit.telemetry.enabled": False}


# Streamlit uses WebAssembly for 64-bit numbers in its messages; our content security policy forbids it, and Streamlit
# falls back to plain JavaScript. Only Firefox reports this
REFUSED = "wasm-unsafe-eval"


class Firefox(Engine):
    def __init__(self, browser: str):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        wishes = "".join(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in QUIET.items())
        Path(self.folder.name, "user.js").write_text(wishes, encoding="utf-8")
        command = [browser, "--headless", "--no-remote", "--profile", self.folder.name, "--remote-debugging-port=0"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.socket = create_connection(f"ws://127.0.0.1:{self._port()}/session", timeout=PATIENCE,
                                        suppress_origin=True)
        self.asked, self.found = 0, []
        self.ask("session.new", capabilities={})
        self.ask("session.subscribe", events=["log.entryAdded"])
        self.context = self.ask("browsingContext.getTree")["contexts"][0]["context"]
        self.ask("browsingContext.setViewport", context=self.context, viewport={"width": WIDE, "height": HIGH})

    def _port(self) -> int:
        """Return the port that Firefox listens on, which it writes into its profile."""
        path, end = Path(self.folder.name, "WebDriverBiDiServer.json"), time.perf_counter() + PATIENCE
        while not (path.exists() and (text := path.read_text(encoding="utf-8"))):
            assert self.process.poll() is None and time.perf_counter() < end, "Firefox did not start"
            time.sleep(0.05)
        return json.loads(text)["ws_port"]

    def ask(self, method: str, **params: Any) -> dict:
        self.asked += 1
        self.socket.send(json.dumps({"id": self.asked, "method": method, "params": params}))
        while True:
            said = json.loads(self.socket.recv())
            if said.get("id") == self.asked:
                assert said["type"] == "success", said
                return said["result"]
            if said.get("method") == "log.entryAdded" and said["params"]["level"] == "error":
                self.found.append(said["params"]["text"])

    def open(self, address: str) -> None:
        self.found.clear()
        self.ask("browsingContext.navigate", context=self.context, url=address, wait="complete")

    def run(self, script: str) -> Any:
        written = self.ask("script.evaluate",
                           expression=f"Promise.resolve(({script})()).then((found) => JSON.stringify(found ?? null))",
                           target={"context": self.context}, awaitPromise=True)
        assert written["type"] == "success", written
        return json.loads(written["result"]["value"])

    def pointer(self, *steps: tuple[str, float, float]) -> None:
        actions: list[dict[str, Any]] = []
        for kind, x, y in steps:
            actions.append({"type": "pointerMove", "x": round(x), "y": round(y), "duration": 20})
            if kind != "move":
                actions.append({"type": "pointerDown" if kind == "down" else "pointerUp", "button": 0})
        self.ask("input.performActions", context=self.context,
                 actions=[{"type": "pointer", "id": "mouse", "actions": actions}])

    def wrong(self) -> list[str]:
        self.run("() => 0")   # by its answer, all earlier messages have arrived
        told, self.found = [each for each in self.found if REFUSED not in each], []
        return told

    def close(self) -> None:
        self.ask("browser.close")
        self.socket.close()
        self.process.wait(20)
        self.folder.cleanup()
