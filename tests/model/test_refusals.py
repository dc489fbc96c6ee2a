"""Errors about questions are true: each cause is planted, the sentence names it, and its advice works."""
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.query import Hide, Kind, Query, Silence, UserError, quiet
from clearhead.model.studies.attribution import LONGEST
from clearhead.model.studies.mechanisms import MechanismsQuery
from clearhead.model.studies.patching import PatchQuery
from clearhead.model.studies.predictions import NextWordQuery
from clearhead.model.studies.token_removal import explained_answer
from tests.model import tiny, tiny_vision
from tests.model.only import Only

TEXT = "the cat sat on a mat"


class Refusal(NamedTuple):
    """A question that is refused, what the sentence names, and the question that it offers instead."""

    ask: Callable[[], Any]
    named: tuple[str, ...]
    way: Callable[[], Any]


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """asked(family, text, …) is (the small model of that family or ours of that name, a query of it)."""
    folders: dict[str, str] = {}

    def ask(name: str, text: str = TEXT, **more: Any) -> tuple[Any, Query]:
        if name in tiny.FAMILIES and name not in folders:
            folders[name] = str(tiny.save(tmp_path_factory.mktemp(name), name))
        model = folders.get(name, name)
        return sources.locate(model).open(quiet), sources.open_query(model, text, **more)
    return ask


def record(model: Any, query: Query) -> Any:
    return model.record(query, quiet)


def patch(model: Any, question: PatchQuery) -> Any:
    return question.answer(Only(model), quiet)


def following(model: Any, query: Query) -> Any:
    return NextWordQuery(query).answer(Only(model), quiet)


def explain(model: Any, query: Query) -> Any:
    return explained_answer(model, query, None, ("", "", ""), LONGEST)


def refusals(asked: Callable[..., tuple[Any, Query]]) -> dict[str, Refusal]:
    def call(question: Callable[[Any, Any], Any], name: str, wrap: Callable[[Query], Any] = lambda query: query,
             **more: Any) -> Callable[[], Any]:
        def run() -> Any:
            model, query = asked(name, **more)
            return question(model, wrap(query))
        return run

    silenced = {"edits": [Silence(Kind.CAUSAL, 0, 0)]}
    patched = lambda kind: lambda query: PatchQuery(query, replace(query, text="the animal sat on a mat"), kind)
    return {
        "edits of reported weights": Refusal(call(record, "bloom", **silenced), ("cannot be edited", "verified"),
                                             call(record, "llama", **silenced)),
        "patches of reported weights": Refusal(call(patch, "bloom", patched(Kind.CAUSAL)),
                                               ("attention in both texts that can be patched", "verified model"),
                                               call(patch, "llama", patched(Kind.CAUSAL))),
        "patches of a kind that is not there": Refusal(call(patch, "llama", patched(Kind.CROSS)),
                                                       ("no cross attention",),
                                                       call(patch, "llama", patched(Kind.CAUSAL))),
        "a token that is not there": Refusal(call(record, "llama", continuation=(70,)), ("it has 70, from 0", "ids"),
                                             call(record, "llama", continuation=(69,))),
        "a head that is not there": Refusal(call(record, "llama", edits=[Silence(Kind.CAUSAL, 0, 9)]),
                                            ("no head 9", "one that is shown"), call(record, "llama", **silenced)),
        "a hidden token that is not there": Refusal(call(following, "llama", edits=[Hide("source", 99)]),
                                                    ("no token 99",),
                                                    call(following, "llama", edits=[Hide("source", 1)])),
        "a next word of a masked-word model": Refusal(call(following, "bert"), ("does not predict a next token",),
                                                      call(following, "llama")),
        "a next word of ours that reads only": Refusal(call(following, "resolver-narrow", text="the cat"),
                                                       ("does not predict a next token", "decoder"),
                                                       call(following, "llama")),
        "an explanation under edits": Refusal(call(explain, "llama", **silenced),
                                              ("remove the edits",), call(explain, "llama")),
    }


NAMES = tuple(refusals(lambda *_, **__: None))   # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_refused_question_names_its_way_out(name, asked):
    refusal = refusals(asked)[name]
    with pytest.raises(UserError) as told:
        refusal.ask()
    said = str(told.value)
    assert all(word in said for word in refusal.named) and "\n" not in said and said.endswith("."), said
    assert refusal.way() is not None


@pytest.mark.parametrize(("family", "said"), [("vit", "reads pictures"), ("clip", "not predict a next token")])
def test_circuits_of_models_of_pictures_are_refused(tmp_path, family, said):
    opened = sources.locate(str(tiny_vision.save(tmp_path, family))).open()
    with pytest.raises(UserError, match=said):
        MechanismsQuery(opened.card.id, opened.card.revision).answer(Only(opened), quiet)


def test_decoders_tokenizer_is_refused(tmp_path):
    folder = tiny.pair(tmp_path / "pair", "gpt2", vocab_size=90)
    tokenizer = tiny.tokenizer()
    tokenizer.add_tokens([f"w{number}" for number in range(88 - len(tokenizer))])
    tokenizer.save_pretrained(folder)
    with pytest.raises(UserError, match=r"with 88 pieces, is the decoder's.*save the encoder's tokenizer"):
        desk.ask(sources.open_query(str(folder), TEXT)).result(60)
    tiny.tokenizer().save_pretrained(folder)
    assert desk.ask(sources.open_query(str(folder), TEXT)).result(60).verification.status == "verified"


def test_server_without_downloads_says_so(monkeypatch):
    monkeypatch.setenv("CLEARHEAD_FETCH", "0")
    with pytest.raises(UserError, match="does not download models; choose one that is marked as on disk"):
        desk.fetch("smollm2")
    assert any(offer.on_disk for offer in sources.catalogue().values())
