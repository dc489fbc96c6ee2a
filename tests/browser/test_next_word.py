"""The page Next word in a real browser: what it offers and writes is what transformers' generate would."""
import re
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.browser.watch import PATIENCE, soon
from tests.model import tiny

STEPS = 3


@pytest.fixture(scope="module")
def decoder(tmp_path_factory) -> Path:
    return tiny.save(tmp_path_factory.mktemp("decoder"), "llama", vocab_size=len(tiny.tokenizer()))


def generated(folder: Path, text: str, temperature: float, top_k: int) -> list[tuple[str, list[float]]]:
    """(token, probabilities of the 8 likeliest) of each greedy step, by transformers alone; temperature and top-k by
    its own processors."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, TemperatureLogitsWarper, TopKLogitsWarper

    network, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        made = network.generate(input_ids=ids, do_sample=False, max_new_tokens=STEPS + 1, output_logits=True,
                                return_dict_in_generate=True,
                                eos_token_id=None)
    steps = []
    for number, logits in zip(made.sequences[0, ids.shape[1]:].tolist(), made.logits):
        cut = TopKLogitsWarper(top_k)(ids, TemperatureLogitsWarper(temperature)(ids, logits.double()))
        steps.append((tokenizer.convert_ids_to_tokens(number), cut[0].softmax(-1).topk(min(8, top_k)).values.tolist()))
    return steps


def offered(page) -> list[float]:
    """The probabilities on the buttons of the tokens that one can click."""
    buttons = page.get_by_role("button", name=re.compile(r" \d\.\d{3}$"))
    return [float(text[-5:]) for text in buttons.all_inner_texts()]


def test_tokens_and_probabilities_are_those_of_generate_forward_and_back(seen, decoder):
    temperature, top_k, text = 0.7, 5, "the cat sat on"
    page, shown, steps = seen.page, [], generated(decoder, text, temperature, top_k)
    page.goto(f"{seen.address}/next_word?"
              + urlencode({"model": str(decoder), "text": text, "t": temperature, "top_k": top_k}))
    for written, (token, probabilities) in enumerate(steps):
        first = page.get_by_role("button", name=f"{token} {probabilities[0]:.3f}", exact=True)
        expect(first).to_be_visible(timeout=PATIENCE)
        soon(lambda: offered(page), pytest.approx(probabilities, abs=6e-4))   # a run sends its buttons one by one
        shown.append(first.inner_text())
        if written < STEPS:
            page.get_by_role("button", name="Most probable", exact=True).click()
    for label in reversed(shown[:-1]):
        page.get_by_role("button", name="Back one token", exact=True).click()
        expect(page.get_by_role("button", name=label, exact=True)).to_be_visible(timeout=PATIENCE)


def test_a_model_that_writes_no_next_word_is_no_error_and_the_way_out_is_a_click(seen):
    page = seen.page
    page.goto(f"{seen.address}/next_word?" + urlencode({"model": "minilm", "text": "the cat sat on"}))
    page.get_by_role("button", name="Open Induction").click(timeout=PATIENCE)
    # Blueskyin Blues: k came next
    expect(page.get_by_role("button", name=re.compile(r"^k 0\.9\d\d$"))).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_test_id("stAlertContentError")).to_have_count(0)
    expect(page.get_by_test_id("stAlertContentInfo")).to_have_count(0)
    assert seen.params()["model"] == ["induction"]
