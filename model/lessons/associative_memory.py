"""Attention as a memory that is addressed by content: pairs are stored, and a damaged key brings its value back.

Keys and values are pictures of 7 × 5 pixels, each +1 or −1, float64 (pair, 35). The answer to a query is softmax(q · k
/ T) V, as in equation (1) of the Transformer; 1/T is the key strength β of Graves et al. 2014, equation 5, and of
Ramsauer et al. 2021, equation 3. """
import numpy as np

HEIGHT, WIDTH = 7, 5
PIXELS = HEIGHT * WIDTH
GLYPHS = {   # rows from top to bottom, # is +1
    "0": ".###. #...# #..## #.#.# ##..# #...# .###.", "1": "..#.. .##.. ..#.. ..#.. ..#.. ..#.. .###.",
    "2": ".###. #...# ....# ..##. .#... #.... #####", "3": ".###. #...# ....# ..##. ....# #...# .###.",
    "4": "...#. ..##. .#.#. #..#. ##### ...#. ...#.", "5": "##### #.... ####. ....# ....# #...# .###.",
    "6": "..##. .#... #.... ####. #...# #...# .###.", "7": "##### ....# ...#. ..#.. .#... .#... .#...",
    "A": ".###. #...# #...# ##### #...# #...# #...#", "B": "####. #...# #...# ####. #...# #...# ####.",
    "C": ".###. #...# #.... #.... #.... #...# .###.", "D": "####. #...# #...# #...# #...# #...# ####.",
    "E": "##### #.... #.... ####. #.... #.... #####", "F": "##### #.... #.... ####. #.... #.... #....",
    "G": ".###. #...# #.... #.### #...# #...# .###.", "H": "#...# #...# #...# ##### #...# #...# #...#"}
KEYS, VALUES = "01234567", "ABCDEFGH"


def picture(name: str) -> np.ndarray:
    """A sign's pixels, row by row, float64 (35)."""
    return np.array([1.0 if each == "#" else -1.0 for each in GLYPHS[name].replace(" ", "")])


def stored_pairs(pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """The first pairs of the memory: keys and values, (pair, 35) each."""
    return np.stack([picture(name) for name in KEYS[:pairs]]), np.stack([picture(name) for name in VALUES[:pairs]])


def damage(key: np.ndarray, share: float, seed: int, count: int = 1) -> np.ndarray:
    """The key `count` times with each pixel turned over with probability `share`, (count, 35); for one seed more noise
    only turns more over."""
    turned = np.random.default_rng(seed).random((count, len(key))) < share
    return np.where(turned, -key, key)


def recall(query: np.ndarray, keys: np.ndarray, values: np.ndarray,
           temperature: float) -> tuple[np.ndarray, np.ndarray]:
    """What comes back (query, 35), between −1 and 1 in each pixel, and the weights (query, pair) that mixed it."""
    import torch

    from model.core import attention

    mixed, weights = attention.attention(torch.tensor(query), torch.tensor(keys), torch.tensor(values), scale=1.0,
                                         temperature=temperature)
    return mixed.numpy(), weights.numpy()


def best_temperature(share: float) -> float:
    """The T at which the weights are the probabilities of the stored keys, given the damaged one: 2 / ln((1 − p)/p).

    A key that agrees with the query in a of n pixels has the likelihood (1 − p)^a p^(n−a), and q · k = 2a − n; Bayes'
    rule over keys that are equally likely is then this softmax. The mean over these probabilities has the least squared
    error that any answer can have. """
    return 2 / np.log((1 - share) / share)


def errors(keys: np.ndarray, values: np.ndarray, share: float, temperatures: np.ndarray,
           draws: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Over `draws` damaged copies of every key: mean squared error of a recalled pixel and mean weight on the right
    pair, (temperature) each."""
    queries = np.concatenate([damage(key, share, seed, draws) for seed, key in enumerate(keys)])
    right = np.repeat(np.arange(len(keys)), draws)
    squared, on_right = [], []
    for temperature in temperatures:
        mixed, weights = recall(queries, keys, values, float(temperature))
        squared.append(((mixed - values[right]) ** 2).mean())
        on_right.append(weights[np.arange(len(right)), right].mean())
    return np.array(squared), np.array(on_right)
