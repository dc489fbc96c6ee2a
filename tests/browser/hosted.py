"""Clearhead's site on a host of its own, and what PyTorch computes with the site's rounded weights."""
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

from clearhead.model import sources
from clearhead.model.cli.commands import answer_to
from clearhead.model.core.query import quiet
from clearhead.model.studies.coreference import shipped_cases
from clearhead.model.studies.syntax import shipped_treebank
from clearhead.viz.export.site import rounding
from clearhead.viz.export.site.build import site_of, write_folder

SINGLE, TORCH = "one.html", "torch"
LONG = " ".join(["The quick brown fox jumps over the lazy dog, and nobody saw it coming."] * 40)
DOZEN = ("", "It rained.", "The animal didn't cross the street because it was too tired.",
         "我爱你，北京！今天天气很好。", "I 🙂 you 👩‍👩‍👧 so much 🇫🇷!", "Ünïcödé café naïve Σίσυφος İstanbul",
         "مرحبا بالعالم שלום עולם नमस्ते 한국어 ไทย",
         "a\tb\nc\u00a0d\u200be\x07f\ufeffg\x0bh", "The [MASK] sat on [SEP] the [UNK] mat [mask].", f"x{'y' * 120} z",
         "$5.00 + 10% = ~£4^2 <tag> `code` a|b", LONG[:600])
# how many tokens each text has, whether they are the same, and the largest difference of a weight
COMPARE = """async (name) => {
  const index = await (await fetch(`${name}.json`)).json(), found = [];
  for (const { text, ids, at } of index) {
    const n = ids.length, end = at + 4 * 72 * n * n - 1;
    const answer = await window.clearhead.ask(text);
    const file = await fetch(`${name}.bin`, { headers: { Range: `bytes=${at}-${end}` } });
    const wanted = new Float32Array((await file.arrayBuffer()).slice(file.status === 206 ? 0 : at, end + 1));
    let worst = 0;
    for (let number = 0; number < 72; number++) {
      const head = answer.weights(Math.floor(number / 12), number % 12);
      head.forEach((weight, cell) => { worst = Math.max(worst, Math.abs(weight - wanted[number * n * n + cell])); });
    }
    const same = answer.ids.join() === ids.join();
    found.push([text.slice(0, 40), n, same, worst]);
  }
  return found;
}"""


def wrong(found: Sequence[tuple[str, int, bool, float]]) -> list:
    """Return the texts in an answer of COMPARE whose tokens or weights differ from PyTorch's."""
    return [each for each in found if not (each[2] and each[3] <= 1e-4)]   # NaN is wrong, too


def sentences() -> list[str]:
    """Return 200 texts: the dozen, one of 512 tokens, and shipped sentences in English and Chinese."""
    cases = [each.sentence for each in shipped_cases("coreference")]
    shipped = [*(each.text for language in ("zh", "en") for each in shipped_treebank(language)), *cases[::2]]
    longer = [" ".join(cases[at:at + 2 + at % 7]) for at in range(0, 100, 4)]
    return [*DOZEN, " ".join(["cat"] * 510), *longer, *dict.fromkeys(shipped)][:200]


def make(folder: Path) -> None:
    """Write the site, its page as one file, and its model for PyTorch into a folder."""
    site = site_of(lambda model, text: answer_to(sources.open_query(model, text)))
    write_folder(site, folder)
    (folder / SINGLE).write_bytes(site.single())
    rounding.write_rounded(sources.fetch_now("minilm", quiet), folder / TORCH)
    refer(folder, "dozen", DOZEN)


def refer(folder: Path, name: str, texts: Sequence[str]) -> None:
    """Write what PyTorch computes for these texts beside the site: NAME.json and NAME.bin."""
    import torch
    from tokenizers import Tokenizer
    from transformers import AutoModel

    tokenizer = Tokenizer.from_file(str(folder / TORCH / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    model, index = AutoModel.from_pretrained(folder / TORCH, attn_implementation="eager"), []
    with (folder / f"{name}.bin").open("wb") as file, torch.no_grad():
        for text in texts:
            ids = tokenizer.encode(text).ids
            answer = model(torch.tensor([ids]), output_attentions=True)
            index.append({"text": text, "ids": ids, "at": file.tell()})
            for array in answer.attentions:
                file.write(array.numpy().astype(np.float32).tobytes())
    (folder / f"{name}.json").write_text(json.dumps(index), encoding="utf-8")


class Ranges(SimpleHTTPRequestHandler):
    """A plain file server that understands one range."""

    def do_GET(self) -> None:
        asked = self.headers.get("Range", "")
        if not asked:
            return super().do_GET()
        first, last = map(int, asked.removeprefix("bytes=").split("-"))
        with Path(self.translate_path(self.path)).open("rb") as file:
            file.seek(first)
            content = file.read(last + 1 - first)
        self.send_response(206)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *said: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder below a path, as a host does, and yield the address of the site in it."""
    def handler(*given):
        return Ranges(*given, directory=str(folder.parent))

    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/{folder.name}/"
        server.shutdown()
