"""An independent, slow implementation of the syntax test: plain loops over the attention returned by transformers,
without model.studies. Also the small models and files that both implementations are tested with."""
import functools
import random
from pathlib import Path

from tests.model import tiny

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = ("the", "animal", "cross", "street", "tired", "cat", "sat", "garden", "unhappily", "café", "漢字", "l'eau", "x")
RELATIONS = ("nsubj", "nsubj:pass", "obj", "det", "amod", "punct", "obl:tmod")
WINDOW = 7   # sliding window of tiny.FAMILIES["mistral"]


def word_pieces():
    """Return a WordPiece tokenizer of single letters and a few words and endings."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    pieces = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]", *LETTERS, *(f"##{letter}" for letter in LETTERS), *".,'",
              "the", "cat", "un", "##happi", "##ly", "animal", "street", "don", "##mal"]
    made = Tokenizer(models.WordPiece({piece: number for number, piece in enumerate(pieces)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(strip_accents=False)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1",
                                                        [("[CLS]", 1), ("[SEP]", 2)])
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]",
                                   unk_token="[UNK]", mask_token="[MASK]")


def byte_pairs():
    """Return a byte-level BPE tokenizer of the 256 bytes and a few merges, which adds <s> before the text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    merges = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("c", "a"), ("ca", "t"), ("Ġ", "cat"), ("d", "o"), ("do", "n"),
              ("Ġ", "don"), ("Ġ", "s"), ("Ã", "©")]
    signs = ["<pad>", "<s>", "</s>", *sorted(pre_tokenizers.ByteLevel.alphabet()), *("".join(pair) for pair in merges)]
    made = Tokenizer(models.BPE({sign: number for number, sign in enumerate(signs)}, merges))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    made.post_processor = processors.TemplateProcessing("<s> $A", "<s> $A $B:1", [("<s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", bos_token="<s>", eos_token="</s>")


TOKENIZERS = {"bert": word_pieces, "llama": byte_pairs, "mistral": byte_pairs}


def save(folder: Path, family: str) -> Path:
    """Save a small model of the family with a tokenizer that splits words into pieces."""
    tokenizer = TOKENIZERS[family]()
    tiny.network(family, vocab_size=len(tokenizer)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def treebank(count: int = 36, seed: int = 5) -> str:
    """Return a file of random sentences with random trees that includes every kind of exception."""
    rng = random.Random(seed)
    sentences = [_random_sentence(rng, rng.choice((4, 4, 5, 6))) for _ in range(count)]
    forms = ["the", "cat", "do", "n't", "sat", "x"]   # the model's piece "don" belongs to two words
    sentences[3] = _sentence("the cat don't sat x", forms, [2, 5, 5, 5, 0, 5], {3: "3-4\tdon't"})
    sentences[8] = _sentence("the cat du street", ["the", "cat", "de", "le", "street"], [2, 0, 5, 5, 2],
                             {3: "3-4\tdu"})   # the forms do not concatenate to the token
    sentences[11] = _sentence("the cat sat .", ["the", "cat", "slept", "."], [2, 3, 0, 3], {})   # "slept" is missing
    long = [rng.choice(WORDS[:4]) for _ in range(70)]
    sentences[14] = _sentence(" ".join(long), long, [*range(2, 71), 0], {})   # more than the model's 61 positions
    sentences[17] = sentences[17].replace("\n2\t", "\n1.1\tempty\t_\t_\t_\t_\t_\t_\t1:dep\t_\n2\t", 1)
    return "".join(sentences)


def _random_sentence(rng: random.Random, length: int) -> str:
    forms, heads = [rng.choice(WORDS) for _ in range(length)], []
    root = rng.randint(1, length)
    for place in range(1, length + 1):   # each word depends on one nearer to the root, so that there is no cycle
        nearer = [other for other in range(1, length + 1) if abs(other - root) < abs(place - root)]
        heads.append(rng.choice(nearer) if nearer else 0)
    return _sentence(" ".join(forms), forms, heads, {}, rng)


def _sentence(text: str, forms: list[str], heads: list[int], tokens: dict[int, str], rng=None) -> str:
    lines = [f"# text = {text}"]
    for place, (form, head) in enumerate(zip(forms, heads), 1):
        if place in tokens:
            lines.append(tokens[place] + "\t_" * 8)
        relation = "root" if head == 0 else rng.choice(RELATIONS) if rng else RELATIONS[(place + head) % len(RELATIONS)]
        lines.append(f"{place}\t{form}\t_\t_\t_\t_\t{head}\t{relation}\t_\t_")
    return "\n".join(lines) + "\n\n"


def read(text: str) -> list[dict]:
    """Return [{text, forms, heads, relations, tokens: {first: (last, form)}}]."""
    found = []
    for block in text.strip().split("\n\n"):
        sentence: dict = {"forms": [], "heads": [], "relations": [], "tokens": {}}
        for line in block.split("\n"):
            if line.startswith("# text = "):
                sentence["text"] = line[len("# text = "):]
            elif not line.startswith("#"):
                cells = line.split("\t")
                if "-" in cells[0]:
                    first, last = cells[0].split("-")
                    sentence["tokens"][int(first)] = (int(last), cells[1])
                elif "." not in cells[0]:
                    sentence["forms"].append(cells[1])
                    sentence["heads"].append(int(cells[6]))
                    sentence["relations"].append(cells[7].partition(":")[0])
        found.append(sentence)
    return found


def spans(sentence: dict) -> list | None:
    """Return each word's (start, end) in the text, with None for a word without a position. Return None if a form does
    not occur in the text."""
    places, at, word = [], 0, 1
    while word <= len(sentence["forms"]):
        last, surface = sentence["tokens"].get(word, (word, sentence["forms"][word - 1]))
        at = sentence["text"].find(surface, at)
        if at == -1:
            return None
        inside, forms = at, sentence["forms"][word - 1:last]
        for form in forms:
            places.append((inside, inside + len(form)) if "".join(forms) == surface else None)
            inside += len(form)
        at += len(surface)
        word = last + 1
    return places


@functools.cache
def eager(folder: Path):
    """Load (tokenizer, network) with transformers, using its eager attention."""
    from transformers import AutoModel, AutoTokenizer

    return (AutoTokenizer.from_pretrained(folder),
            AutoModel.from_pretrained(folder, attn_implementation="eager").eval())


def words_looked_at(folder: Path, family: str, sentence: dict) -> tuple[list, list, list] | None:
    """Return (choices, allowed, pieces): for each head, in layer order, and each word, the index of the word with the
    most attention, or None; whether the mask allows each pair of words; and each word's pieces. Return None if the text
    is too long."""
    import torch

    tokenizer, network = eager(folder)
    encoded = tokenizer(sentence["text"], return_offsets_mapping=True, return_special_tokens_mask=True)
    if len(encoded["input_ids"]) > network.config.max_position_embeddings:
        return None
    with torch.no_grad():
        attentions = network(torch.tensor([encoded["input_ids"]]), output_attentions=True).attentions
    pieces = []
    for span in spans(sentence):
        pieces.append([])
        for token, (start, end) in enumerate(encoded["offset_mapping"]):
            if span and not encoded["special_tokens_mask"][token] and start < span[1] and span[0] < end:
                pieces[-1].append(token)

    def allowed(p, q):
        return family == "bert" or (q <= p and (family != "mistral" or p - q < WINDOW))

    may = [[any(allowed(p, q) for p in one for q in other) for other in pieces] for one in pieces]
    looked = []
    for layer in attentions:
        for head in layer[0].tolist():
            looked.append([_most(head, pieces, may, word) for word in range(len(pieces))])
    return looked, may, pieces


def _most(head: list, pieces: list, may: list, word: int) -> int | None:
    best, most = None, -1.0
    for other in range(len(pieces)):
        if other != word and may[word][other]:
            weight = sum(sum(head[p][q] for q in pieces[other]) for p in pieces[word]) / len(pieces[word])
            if weight > most:
                best, most = other, weight
    return best


def syntax_test(folder: Path, family: str, text: str) -> dict:
    """Return the exact numbers of the test: {relation: {n, held_out, offset, chosen, best, possible, …}}, and the
    number of sentences that were used."""
    tests: dict[str, list] = {}   # relation: (number, looked, dependent, head, offset, possible from each)
    read_sentences, heads = 0, 0
    for number, sentence in enumerate(read(text)):
        answer = words_looked_at(folder, family, sentence) if spans(sentence) else None
        if answer is None:
            continue
        looked, may, pieces = answer
        read_sentences, heads = read_sentences + 1, len(looked)
        for dependent, (above, relation) in enumerate(zip(sentence["heads"], sentence["relations"])):
            head = above - 1
            if above and pieces[dependent] and pieces[head]:
                tests.setdefault(relation, []).append((number, looked, dependent, head, head - dependent,
                                                       (may[dependent][head], may[head][dependent])))
    relations = {relation: _scores(found, heads) for relation, found in tests.items()}
    return {"sentences": read_sentences, "relations": relations}


def _scores(tests: list, heads: int) -> dict:
    candidates = [(way, head) for way in ("dependent", "head") for head in range(heads)]

    def right(candidate, test):
        way, head = candidate
        _, looked, dependent, above, _, _ = test
        return looked[head][dependent] == above if way == "dependent" else looked[head][above] == dependent

    def near(offset, test):
        return test[4] == offset

    offsets = [offset for offset in range(-10, 11) if offset != 0]
    best = _best(candidates, right, tests)
    held_out, chosen, answers = _judged(candidates, right, tests)
    return {"n": len(tests), "held_out": held_out, "chosen": chosen, "answers": answers,
            "offset": _judged(offsets, near, tests)[0], "best": best, "accuracy": _share(best, right, tests),
            "possible": tuple(sum(test[5][way] for test in tests) / len(tests) for way in (0, 1))}


def _share(candidate, right, tests: list) -> float:
    return sum(right(candidate, test) for test in tests) / len(tests)


def _best(candidates: list, right, tests: list):
    best, most = None, -1.0
    for candidate in candidates:
        if _share(candidate, right, tests) > most:
            best, most = candidate, _share(candidate, right, tests)
    return best


def _judged(candidates: list, right, tests: list):
    halves = [[test for test in tests if test[0] % 2 == half] for half in (0, 1)]
    if not halves[0] or not halves[1]:
        return None, [], []
    chosen = [_best(candidates, right, half) for half in halves]
    answers = [(test[0], right(chosen[1 - half], test)) for half in (0, 1) for test in halves[half]]
    return sum(answer for _, answer in answers) / len(answers), chosen, answers
