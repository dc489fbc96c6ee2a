"""What the columns of an atlas' tables mean: for whoever reads the Parquet or CSV files without this program."""
HEAD = {"layer": "the model's number of the layer, from 0", "head": "the head's number in its layer, from 0"}
MEASURE = {"measure": "the name of a row of the table measures"}
HALVES = {"n_even": "n in even-numbered sentences of the files, counted from 0", "right_even": "right among these",
          "n_odd": "n in odd-numbered sentences", "right_odd": "right among these"}
COLUMNS = {
    "measures": {"measure": "its name in all tables", "group": "measure, fit (of a simple pattern) or detector",
                 "title": "what a head with a large number does", "equation": "LaTeX",
                 "unit": "of every number of this measure", "paper": "who defined it",
                 "low": "where its histogram begins", "high": "where its histogram ends",
                 "bins": "of its histogram", "scale": "of these bins: linear or log2"},
    "heads": HEAD | MEASURE | {
        "n": "texts that have this number", "mean": "over these texts", "sd": "standard deviation over these texts",
        "min": "the smallest", "max": "the largest",
        **{f"d{tenth}": f"decile {tenth}: the smallest value that {tenth} tenths of the texts do not exceed"
           for tenth in range(1, 10)},
        "error": "how far a decile may be off: half of its histogram's bin",
        "uniform": "the mean of rows that look at every allowed token alike; NaN where that has no meaning"},
    "histograms": HEAD | MEASURE | {"low": "where the bin begins", "high": "where it ends",
                                    "count": "texts in it; empty bins have no row"},
    "sinks": HEAD | {
        "position": "of the token that is looked at, from 0; -1 is the last, -2 the one before it",
        "n": "texts that have this position", "share": "of all rows' weight, the mean over these texts",
        "uniform": "the same of rows that look at every allowed token alike"},
    "examples": HEAD | MEASURE | {
        "sample": "strongest, or decile: of the texts with the smallest hashes, those in a tenth of the values",
        "decile": "1 to 10, 0 of the strongest",
        "rank": "from 0, by the value or, in a decile, by the hash of the text",
        "value": "of the measure in this text", "number": "of the text, as in the table texts",
        "query": "the token that looks, from 0; -1 where no cell stands for the number", "key": "the token looked at",
        "weight": "of this cell"},
    "texts": {"number": "of the text in the corpus, from 0", "hash": "of the text, 16 hexadecimal digits",
              "source": "the file", "line": "in which the text begins, from 1", "text": "as the model read it",
              "tokens": "those that look, a list", "keys": "those that are looked at, where they are others"},
    "syntax": {
        "relation": "of Universal Dependencies, without subtype",
        "looks": "the word that looks: the dependent at its head, or the head at its dependent", **HEAD,
        "n": "tests", "right": "of these, those in which the head looks most at the right word",
        "possible": "of these, those that the model's mask allows", **HALVES},
    "offsets": {"relation": "of Universal Dependencies, without subtype",
                "offset": "words from the dependent to the one that is guessed to be its head", "n": "tests",
                "right": "of these, those in which the guess is right"} | HALVES,
}
