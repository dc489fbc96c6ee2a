"""Every sentence of *From text to vectors*, read again for texts of all kinds and held against counts of one's own; the
numbers of a table against a table that is planted."""
import itertools
import re
import unicodedata
from collections import Counter
from functools import cache

import numpy as np
import pytest
import torch
from scipy import stats
from transformers import AutoModel, AutoTokenizer

from model.lessons import vectors
from model.pretrained import catalogue
from tests.conftest import LONG
from tests.lesson_pages import Shown, shown
from tests.lesson_sentences import agrees
from viz.text import strings

PROSE = strings("lessons/vectors")
BOOKS, TEXTS = PROSE["presets"]["books"], PROSE["presets"]["texts"]
PLACES = [{}, {"typed": "", "book": "", "done": 512}, {"typed": TEXTS["chinese"], "book": BOOKS["chinese"], "done": 0},
          {"typed": "x", "book": BOOKS["low"], "done": 512}]
if LONG:
    PLACES += [{"typed": text, "book": book, "done": done} for text in TEXTS.values() for book in BOOKS.values()
               for done in (0, 1, 7, 512)]
OPEN = {"typed": TEXTS["english"], "book": BOOKS["low"], "done": 3}


def numbers(sentence: str) -> list[float]:
    """Those of a sentence as a reader has them."""
    found = re.findall(r"(?<![\w#.])[-−+]?\d[\d,]*\.?\d*", sentence)
    return [float(each.replace(",", "").replace("−", "-")) for each in found]


@pytest.mark.parametrize("turned", PLACES, ids=str)
def test_what_is_said_of_pieces_and_merges_is_true_of_them(turned):
    page, where = shown("vectors", guess="a", **turned), OPEN | turned
    says_of_pieces(page, where)
    says_of_merges(page, where)
    says_of_bytes(page)


def says_of_bytes(page: Shown) -> None:
    """The folded sentences about pieces and merges, which are the same for every text."""
    bytewise, alphabet, added = page.more["pieces"][1:]
    made = vectors.train_bpe(BOOKS["english"])
    if not vectors.on_disk("smollm2"):
        assert f"ids 0 to {made.get_vocab_size() - 1})" in bytewise
    assert [word for word, _ in made.pre_tokenizer.pre_tokenize_str("a B")] == ["a", "ĠB"]
    assert agrees(alphabet.replace("SmolLM2's", ""), 256, 256 - len(unneeded_bytes()) - 6)
    pieces = vectors.tokenizer_of("minilm").encode("a text").tokens
    assert pieces[0] == "[CLS]" and pieces[-1] == "[SEP]" and "[CLS] and [SEP] are not in your text" in added
    if "merges" not in page.more:
        return
    spaces, chinese, again = page.more["merges"][1:]
    assert "are two" in spaces and len(vectors.merges("low low low").words) == 2
    first, second = "天气".encode()[:3], "天气".encode()[3:4]
    assert "three bytes" in chinese and first.decode() == "天" and f"(天 {second.hex().upper()})" in chinese
    learnt = vectors.merges(BOOKS["english"]).pairs
    assert "repeats these merges" in again and all(
        list(vectors.apply(word, learnt)) == made.encode(text).tokens
        for text in ("mathematics", "seen", "rest") for word, _ in made.pre_tokenizer.pre_tokenize_str(text))


@cache
def unneeded_bytes() -> frozenset[int]:
    """The bytes that no assigned character has in UTF-8."""
    needed = set()
    for number in range(0x110000):
        if unicodedata.category(sign := chr(number)) not in ("Cn", "Cs"):
            needed.update(sign.encode())
    return frozenset(range(256)) - needed


def says_of_pieces(page: Shown, where: dict) -> None:
    told, red, _ = page.notices["pieces"]
    cut = vectors.tokenizer_of("minilm").encode(where["typed"], add_special_tokens=False)
    wanted = [len(where["typed"]), len(where["typed"].encode()), len(cut.tokens)]
    assert numbers(told.replace("UTF-8", ""))[:3] == wanted
    assert numbers(red)[0] == cut.tokens.count("[UNK]")
    if not vectors.on_disk("smollm2"):
        made = vectors.train_bpe(BOOKS["english"])
        assert numbers(told)[-1] == len(made.encode(where["typed"]).tokens)
    assert f"ids 0 to {vectors.tokenizer_of('minilm').get_vocab_size() - 1:,}" in page.more["pieces"][0]


def merged(words: list[tuple[list[bytes], int]]) -> Counter:
    """How often each pair of neighbours occurs."""
    counts: Counter = Counter()
    for pieces, times in words:
        for pair in itertools.pairwise(pieces):
            counts[pair] += times
    return counts


def bytes_after(book: str, done: int) -> tuple[int, int, Counter]:
    """Pieces of the text at first and after so many merges, and the pairs that are left; from the bytes alone, in the
    library's order of merges."""
    signs = {sign: bytes([byte]) for byte, sign in _alphabet().items()}
    made = vectors.train_bpe(book)
    words = Counter(word for word, _ in made.pre_tokenizer.pre_tokenize_str(book))
    split = [([signs[sign] for sign in word], times) for word, times in words.items()]
    before = sum(len(pieces) * times for pieces, times in split)
    for one, other in vectors.merges(book).pairs[:done]:
        pair = b"".join(signs[sign] for sign in one), b"".join(signs[sign] for sign in other)
        counts = merged(split)
        assert counts[pair] == max(counts.values()) > 1   # the most frequent one is merged
        split = [(_join(pieces, pair), times) for pieces, times in split]
    return before, sum(len(pieces) * times for pieces, times in split), merged(split)


def _alphabet() -> dict[int, str]:
    """GPT-2's signs for bytes: what is printed stands for itself, the others follow from 256 on."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + place) for place, byte in enumerate(others)}


def _join(pieces: list[bytes], pair: tuple[bytes, bytes]) -> list[bytes]:
    joined: list[bytes] = []
    for piece in pieces:
        fresh = joined and (joined[-1], piece) == pair
        joined[-1:] = [joined[-1] + piece] if fresh else [*joined[-1:], piece]
    return joined


def says_of_merges(page: Shown, where: dict) -> None:
    learnt = vectors.merges(where["book"])
    assert ("merges" in page.notices) == bool(learnt.pairs)
    if not learnt.pairs:
        return
    done = min(where["done"], len(learnt.pairs))
    before, now, left = bytes_after(where["book"], done)
    sentence = page.notices["merges"][0]
    assert numbers(sentence)[:4] == [done, len(learnt.pairs), now, before]
    assert ("first bar is merged next" in sentence) == (bool(left) and max(left.values()) > 1)
    assert ("Nothing is left to merge" in sentence) == (not left or max(left.values()) == 1)
    assert numbers(page.more["merges"][0]) == [256, done, 256 + done]
    assert numbers(page.alts["vectors-merges"]) == [done, now, before]
    if left:
        assert numbers(page.alts["vectors-candidates"])[-1] == max(left.values())


def test_what_is_said_of_the_chinese_sentence_is_what_the_tokenizers_do():
    page = shown("vectors", guess="d")
    sentence, words = "".join(PROSE["chinese"]["textbook"]), PROSE["chinese"]["textbook"]
    cut = vectors.tokenizer_of("minilm").encode(sentence, add_special_tokens=False).tokens
    told = numbers(page.notices["chinese"][0])
    assert told[:2] == [cut.count("[UNK]"), len(sentence)] and told[3:5] == [len(sentence), len(sentence.encode())]
    assert 0 < cut.count("[UNK]") < len(cut) and cut != words
    learnt = vectors.merges(BOOKS["chinese"]).pairs
    made = {vectors.show_piece("".join(pair)) for pair in learnt}
    assert {"苹果", "天天气"} <= made and all(each in page.more["chinese"][0] for each in ("苹果", "天天气", "中文"))
    assert "between [UNK]s or pieces of bytes" in page.notices["chinese"][1]


def test_before_the_answer_nothing_shows_what_becomes_of_chinese():
    page = shown("vectors")
    assert not page.notices and PROSE["pieces"]["names"]["chinese"] not in page.words
    assert "UNK" not in "".join(word for word in page.words if word != PROSE["predict"]["answers"][3]["text"])


@cache
def opened(model: str = "minilm") -> tuple:
    """(tokenizer, network) of a model as transformers opens them."""
    folder = catalogue.folder_of(catalogue.entry_named(model))
    return AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).float().eval()


def says_of_the_table(page: Shown, word: str, model: str = "minilm") -> None:
    """Fails unless what is said of a word's neighbours is true of the model's table."""
    tokenizer, network = opened(model)
    table = network.get_input_embeddings().weight.detach().numpy()
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    place = tokenizer.convert_tokens_to_ids(word if model == "minilm" else f"Ġ{word}")
    with_all = (unit @ unit[place]).astype(np.float64)
    with_all[place] = -1
    nearest, count, width = tokenizer.decode([int(with_all.argmax())]).replace(" ", "␣"), *table.shape
    every = ((unit.sum(0, dtype=np.float64) ** 2).sum() - count) / (count * (count - 1))
    one, other = np.random.default_rng(9).integers(count, size=(2, 100_000))
    drawn = np.einsum("pd,pd->p", unit[one], unit[other])[one != other]
    shape = (width - 1) / 2   # a cosine is 2 B − 1 of a beta variable
    luck = (2 * stats.beta.ppf(((np.arange(4000) + 0.5) / 4000) ** (1 / count), shape, shape) - 1).mean()
    first, second = page.notices["table"]
    assert f"Nearest to *{word}* is *{nearest}*" in first and f"**{with_all.max():.3f}**" in first
    assert numbers(first)[1:] == [pytest.approx(every, abs=0.0022), pytest.approx(np.percentile(drawn, 99), abs=0.006)]
    assert numbers(second)[:2] == [count, width] and numbers(second)[2] == pytest.approx(luck, abs=0.0075)
    assert numbers(second)[3] == (with_all > page.numbers["table"]["luck"]).sum()
    assert numbers(page.alts["vectors-nearest"]) == [pytest.approx(with_all.max(), abs=5e-4)]
    assert numbers(page.alts["vectors-baseline"]) == [numbers(first)[1], pytest.approx(luck, abs=0.003)]
    assert agrees(page.alts["vectors-rows"], 14, width)
    shared, forms = page.more["table"]
    # of unit rows the mean cosine is the squared length of their mean: what they share is one direction
    assert "share a direction" in shared and every == pytest.approx(
        (unit.mean(0, dtype=np.float64) ** 2).sum(), abs=2 / count)
    near = [tokenizer.decode([int(each)]).strip().lower() for each in with_all.argsort()[::-1][:12]]
    assert "other forms and spellings" in forms and any(word[:4] in each for each in near)


def states(text: str, model: str = "minilm") -> tuple[list, list[np.ndarray]]:
    """(the word that each piece belongs to with its letters, vectors of the pieces layer by layer), table first."""
    tokenizer, network = opened(model)
    read = tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
    spans, words = read.pop("offset_mapping")[0].tolist(), read.word_ids()
    last: list[torch.Tensor] = []
    blocks = network.encoder.layer if model == "minilm" else network.layers
    # behind the last block of a decoder transformers gives the normalised vector
    hook = blocks[-1].register_forward_hook(lambda *seen: last.append(
        seen[2][0] if isinstance(seen[2], tuple) else seen[2]))
    with torch.inference_mode():
        found = network(**read, output_hidden_states=True).hidden_states
        table = network.get_input_embeddings()(read["input_ids"])
    hook.remove()
    spelled = [(word, text[low:high].strip().lower()) for word, (low, high) in zip(words, spans, strict=True)]
    layers = (table, *found[:-1], last[0].reshape(found[-1].shape))
    return spelled, [layer[0].double().numpy() for layer in layers]


def says_of_contexts(page: Shown, word: str, texts: list[str], others: str, model: str = "minilm") -> None:
    """Fails unless what is said of a word in two contexts is true of the model's vectors."""
    read, apart = [states(text, model) for text in (*texts, others)], []
    at = [next(place for place, (_, letters) in enumerate(spelled) if letters == word) for spelled, _ in read[:3]]
    for side in (1, 2):
        apart.append([np.dot(one[at[0]], other[at[side]]) / np.linalg.norm(one[at[0]]) / np.linalg.norm(other[at[side]])
                      for one, other in zip(read[0][1], read[side][1], strict=True)])
    first, second, third = page.notices["contexts"]
    names = ["table", "input", *map(str, range(len(read[0][1]) - 2))]
    told, low = numbers(re.sub("“[^”]*”", "", first)), int(np.argmin(apart[0]))
    assert told == pytest.approx([1.0, 1, 2, 1.0, 1, 3, 1.0, apart[0][-1], apart[0][low], apart[1][-1]], abs=5.1e-4)
    assert f"“{names[low]}”" in first
    base = numbers(second)[-1]
    assert numbers(third) == pytest.approx([each[-1] - base for each in apart], abs=1.1e-3)
    assert numbers(page.alts["vectors-contexts"]) == pytest.approx([1.0, apart[0][-1], apart[1][-1], base], abs=5.1e-4)
    drifts, anisotropy, decoder = page.more["contexts"]
    assert "drifts even where the meaning is the same" in drifts and apart[1][-1] < 0.99
    assert "first word of each sentence is left out" in anisotropy and base == pytest.approx(
        baseline(read, -1), abs=0.012)
    assert "a decoder sees only what comes before the word" in decoder
    if model == "smollm2":   # what stands behind the word changes nothing of it
        cut = texts[0][:texts[0].lower().index(word) + len(word)]
        assert states(cut, model)[1][-1][at[0]] == pytest.approx(read[0][1][-1][at[0]], rel=1e-3, abs=1e-3)


def baseline(read: list[tuple[list, list[np.ndarray]]], layer: int) -> float:
    """Mean cosine at a layer of each word of three sentences with each differently spelled one of the fourth, their
    first words left out."""
    sides = []
    for spelled, layers in read:
        places: dict = {}
        for place, (word, letters) in enumerate(spelled):
            if letters and word is not None:
                places.setdefault(word, []).append(place)
        words = [("".join(spelled[place][1] for place in each), layers[layer][each].mean(0))
                 for each in places.values()][1:]
        sides.append([(name, vector / np.linalg.norm(vector)) for name, vector in words if name.isalpha()])
    found = [one @ other for side in sides[:3] for name, one in side for letters, other in sides[3] if name != letters]
    return float(np.mean(found))


@pytest.mark.parametrize(("case", "word"), [("bank", "bank"), ("apple", "river"), ("own", "bank")])
def test_what_is_said_of_the_opened_model_is_true_of_its_vectors(case, word):
    words = PROSE["contexts"]
    own = ["Cats like warm milk a lot.", "We drank the milk of a coconut.", "She poured the milk into a cup."]
    shared, *texts = words["texts"].get(case, ["milk", *own])
    turned = dict(zip(("first", "second", "third", "shared"), (*own, "milk"), strict=True)) if case == "own" else {}
    page = shown("vectors", guess="a", open=True, case=case, word=word, **turned)
    says_of_the_table(page, word)
    says_of_contexts(page, shared, texts, words["others"])


def test_what_is_said_of_a_decoder_is_true_of_its_table_and_vectors(smollm2):
    words = PROSE["contexts"]
    shared, *texts = words["texts"]["bank"]
    page = shown("vectors", guess="a", open=True, table=smollm2)
    says_of_the_table(page, "bank", smollm2)
    says_of_contexts(page, shared, texts, words["others"], smollm2)
    cut = opened(smollm2)[0](TEXTS["english"])["input_ids"]
    bytewise, alphabet = page.more["pieces"][1:3]
    assert numbers(page.notices["pieces"][0])[-1] == len(cut)
    assert f"ids 0 to {len(opened(smollm2)[0]) - 1:,})" in bytewise
    own = set(opened(smollm2)[0].get_vocab()) & set(_alphabet().values())
    assert f"SmolLM2's has {len(own)}" in alphabet
    true = page.notices["contexts"]
    page.notices["contexts"] = [true[0], true[1], true[2].replace("+0.", "+0.9")]
    with pytest.raises(AssertionError):
        says_of_contexts(page, shared, texts, words["others"], smollm2)


def test_a_word_that_the_model_cannot_write_is_said_to_say_nothing():
    page = shown("vectors", guess="a", open=True, case="苹果")
    assert "contexts" not in page.notices and "vectors-contexts" not in page.charts
    assert opened()[0].tokenize("苹果")[0] == "[UNK]"
    assert any("says nothing about the word" in each for each in page.words)


def test_a_wrong_sentence_is_caught():
    page = shown("vectors", guess="a")
    for section, wrong, check in (("pieces", ("67 characters", "68 characters"), says_of_pieces),
                                  ("merges", ("first bar is merged", "last bar is merged"), says_of_merges)):
        check(page, OPEN)
        true = page.notices[section]
        page.notices[section] = [sentence.replace(*wrong) for sentence in true]
        with pytest.raises(AssertionError):
            check(page, OPEN)
        page.notices[section] = true


def test_random_pairs_are_many_enough_that_other_draws_say_the_same():
    """Of a table whose rows share a direction, against all its pairs."""
    rows = np.random.default_rng(3).standard_normal((600, 24)) + 0.3
    unit = rows / np.sqrt((rows**2).sum(1, keepdims=True))
    every = (unit @ unit.T)[~np.eye(600, dtype=bool)]
    _, _, pairs = vectors.neighbours(rows, 5)
    assert pairs.mean() == pytest.approx(every.mean(), abs=0.003)
    assert np.percentile(pairs, 99) == pytest.approx(np.percentile(every, 99), abs=0.006)
