"""Format the Markdown page of `python -m benchmarks.tasks`, on what the small models learned."""
from collections.abc import Sequence

INTRODUCTION = """# The tasks

Written by `python -m benchmarks.tasks` from the weights in `assets/weights`. Layers and heads count from 0. Heads are
named on validation sentences and scored on test sentences. Every test sentence has a pair of nouns that was never
trained on, in any frame or order.

- *Twins* are a sentence and the same sentence with an adjective that makes "it" the other noun. A head is judged on
  both.
- A *resolving* head gives the right noun more weight in both twins, in at least 95% of the twins. An *actor* or *place*
  head gives the first or the second noun more weight in at least 95% of the sentences, whatever the adjective: it has
  learned a role and does not read the adjective.
- *Mass* is the mean weight on both nouns together. A head with a mass below 0.5 has no name.
- A silenced head outputs zeros, or its own mean over the positions of the sentence. A head with the same output at
  every position, because all of them look at the same noun, loses nothing when its mean is used.
"""
RESOLVERS = ("resolver-narrow", "resolver-wide")
ROLES = ("actor", "place")
SPLITS = {"validation": "validation", "test": "held-out pairs of nouns", "nouns": "one held-out noun",
          "adjectives": "held-out adjectives",
          "frames": "held-out frames"}


def page(found: dict) -> str:
    """Return the whole page."""
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    parts = [INTRODUCTION, f"{versions}, Python {found['machine']['python']}, {found['machine']['system']}.",
             *_sentences(found), *_resolvers(found),
             *_translator(found["translator"]), *_induction(found["induction"], found["decoders"]),
             *_marked(found["marked-digit"])]
    return "\n".join(parts) + "\n"


def table(names: Sequence[str], rows: Sequence[Sequence]) -> str:
    """Format rows as a Markdown table with these column names and an empty line before and after. Floats have three
    decimals."""
    cells = [[f"{each:.3f}" if isinstance(each, float) else str(each) for each in row] for row in rows]
    return "\n".join(["", *("| " + " | ".join(row) + " |" for row in (list(names), ["---"] * len(names), *cells)), ""])


def _sentences(found: dict) -> list[str]:
    places, size = found["positions"], found["size"]
    return ["\n## The sentences\n",
            f"How often the nearest and the first noun is the right one, in {size:,} sentences as training draws them.",
            table(("frame", "nearest", "first"),
                  [(frame, places["nearest"][frame], places["first"][frame]) for frame in sorted(places["first"])])]


def _resolvers(found: dict) -> list[str]:
    models = {name: found[name] for name in RESOLVERS}
    columns = [("bag of words", found["bag of words"]), *((name, each["accuracy"]) for name, each in models.items())]
    frames = sorted(models[RESOLVERS[0]]["by_role"]["actor"])
    roles = [[frame, *(each["by_role"][role][frame] for each in models.values() for role in ROLES)] for frame in frames]
    parts = ["## Resolver: what is \"it\"?\n", *(f"- `{each['command']}`" for each in models.values()),
             table(("accuracy", *(name for name, _ in columns)),
                   [(told, *(each[split] for _, each in columns)) for split, told in SPLITS.items()]),
             "By frame and by the noun that is meant:",
             table(("frame", *(f"{name}, {role}" for name in models for role in ROLES)), roles)]
    for name, each in models.items():
        parts += [f"### What \"it\" looks at: {name}", _heads(each["heads"], frames),
                  f"### What silencing costs: {name}", _silenced(each["silenced"])]
    return parts


def _heads(heads: list[dict], frames: list[str]) -> str:
    """Format each head's table of adjective × noun and its share of twins with both sentences correct. Named heads are
    also listed by frame."""
    names = ("head", "name", "means actor: to actor", "to place", "means place: to actor", "to place", "mass",
             "both twins")
    whole = table(names,
                  [(_place(each), each["name"], *each["table"][0], *each["table"][1], each["mass"], each["both"])
                   for each in heads])
    named = [each for each in heads if each["name"]]
    if not named:
        return whole + "\nNone has a name.\n"
    return whole + "\nBoth twins, by frame:\n" + table(("frame", *map(_place, named)),
                                                      [(frame, *(each["by_frame"][frame] for each in named))
                                                       for frame in frames])


def _place(head: dict) -> str:
    return f"{head['kind']} {head['layer']}·{head['head']}"


def _silenced(rows: list[dict]) -> str:
    return table(("silenced", "zeros", "mean"), [(row["heads"], row["zero"], row["mean"]) for row in rows])


def _translator(found: dict) -> list[str]:
    frames = sorted(found["by_role"]["actor"])
    return ["## Translator: il or elle?\n", f"- `{found['command']}`",
            f"- exactly right by greedy decoding: {found['exact']:.3f}; validation {found['validation']:.3f}",
            f"- il or elle right, in the {found['mixed']:,} test sentences whose nouns differ in gender: "
            f"{found['pronoun']:.3f}",
            table(("frame", *ROLES), [(frame, *(found["by_role"][role][frame] for role in ROLES)) for frame in frames]),
            "### What \"it\" looks at in the encoder, and what the row that writes il or elle looks at in the source",
            _heads(found["heads"], frames),
            "### What silencing costs: il or elle", _silenced(found["silenced"]),
            "All heads of one layer and kind, at their mean:",
            table(("layer", "il or elle"), list(found["stages"].items())),
            "### Where the decision is made\n",
            "How often il and elle are exchanged when the encoder's output at some words comes from the twin:",
            table(("words", "flipped"), list(found["swapped"].items()))]


def _induction(found: dict, decoders: dict[str, list[dict]]) -> list[str]:
    heads = [(f"{each['layer']}·{each['head']}", each["previous"], each["prefix"], each["copying"])
             for each in found["heads"]]
    told = ", ".join(f"{name} {found[name]:.4f}"
                     for name in ("loss_unseen", "right_unseen", "loss_longer", "right_longer"))
    parts = ["## Induction: what came after this character last time?\n",
             f"- `{found['command']}`\n- {told} (loss in nats on the repeated part)\n"
             f"- uniform rows would score {found['uniform']:.3f}",
             table(("head", "previous token", "prefix matching", "copying"), heads),
             "Silencing a head of layer 0 lowers the best prefix-matching score by:",
             table(("head", "lower by"), list(found["silencing_lowers_prefix_by"].items()))]
    for name, strongest in decoders.items():
        parts += [f"### The same scores for {name}\n",
                  "The heads with the highest score of either kind, on random tokens:",
                  table(("head", "previous token", "prefix matching"),
                        [(each["head"], each["previous"], each["prefix"]) for each in strongest])]
    return parts


def _marked(found: dict) -> list[str]:
    """Format the results of the marked-digit model: accuracies, attention by role, and the effect of each head."""
    shares = [(each["role"], f"{each['layer']}·{each['head']}", "yes" if each["named"] else "", each["weight"],
               each["elsewhere"], each["both"]) for each in found["heads"]]
    circuit = [(f"{each['layer']}·{each['head']}", each["zero"], each["mean"], each["everywhere"],
                each["cls"], each["digits"])
               for each in found["circuit"]]
    return ["## Marked digit: which digit has the dot below it?\n",
            f"- `{found['command']}`, {found['parameters']:,} parameters",
            "- digits and sets of positions in validation and test were never trained on; twins differ in the dot's "
            "position",
            table(("split", "right", "both twins"),
                  [(split, found["accuracy"][split], found["twins"][split]) for split in found["accuracy"]]),
            "### What a row gives to a key\n",
            "*digit*: [CLS] to the marked digit; *marker*: [CLS] to the dot; *below*: the marked digit to the dot below"
            " it; *above*: the dot to the digit above it. Elsewhere: to the twin's key, where the dot is not.",
            table(("role", "head", "named", "weight", "elsewhere", "first in both twins"), shares),
            "### What each head carries\n",
            "Right with the head silenced, and how often the answer becomes the twin's when the head has its output "
            "for the twin: at all rows, only at [CLS], and only at the patches with digits.",
            table(("head", "zeros", "mean", "twin's, all rows", "[CLS] alone", "digits alone"), circuit)]
