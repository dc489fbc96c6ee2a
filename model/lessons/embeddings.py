"""Vectors of a loaded model for the lesson *From text to vectors*: its table of input embeddings, and its words in two
contexts."""
from collections.abc import Callable
from typing import Any

from model.core.query import Query, UserError
from model.core.trace import Trace
from model.core.types import Progress
from model.lessons.contexts import Contexts, ContextsQuery, Table, TableQuery, compare, layers, luck, neighbours
from model.pretrained.inputs import tokenize_query
from model.pretrained.tokens import visible


def table(opened: Any, question: TableQuery, report: Progress) -> Table:
    """The neighbours of a word that is one piece of the vocabulary. Raises UserError for a word of several pieces, or
    an unknown one."""
    report(0.3, "looking through the vocabulary")
    tokenizer, title = opened.tokenizer, opened.card.title

    def named(id: int) -> str:
        return visible(tokenizer.convert_tokens_to_string([tokenizer.convert_ids_to_tokens(id)]))

    # byte-level pieces hold the space before a word
    ids = tokenizer.encode(f" {question.word}", add_special_tokens=False)
    if len(ids) != 1:
        raise UserError(f"“{question.word}” is not one piece for {title} but {len(ids)} "
                        f"({' · '.join(map(named, ids))}), and a table has rows of "
                        "pieces only; choose a word that is one piece.")
    if ids[0] == tokenizer.unk_token_id and question.word != tokenizer.unk_token:
        raise UserError(f"“{question.word}” is unknown to {title}; choose another word.")
    rows = opened.network.get_input_embeddings().weight.detach().numpy()[:len(tokenizer)]
    order, cosines, pairs = neighbours(rows, ids[0])
    return Table(rows[list(question.ids)], named(ids[0]),
                 tuple((named(each), float(cosines[each - (each > ids[0])])) for each in order), cosines,
                 pairs, luck(*rows.shape))


def contexts(opened: Any, question: ContextsQuery, trace_of: Callable[[Query], Trace]) -> Contexts:
    """The word in its contexts; trace_of(query) gives the trace of a query's pass. Raises UserError if the word is
    missing in one of the first three texts."""
    asked = (question.first, question.second, question.third, question.others)
    tokens = [tokenize_query(opened.network, opened.tokenizer, query, opened.card.max_tokens).source for query in asked]
    return compare(question.word, tuple(query.text for query in asked), tokens,
                   [layers(trace_of(query)) for query in asked])
