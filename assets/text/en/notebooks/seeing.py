# %% [markdown]
# A small vision–language model: where its heads look from the last token of a question, over held-out pictures; and
# one question, with the patch of the named digit visible and hidden.
# %%
from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.lessons import picture_answers as lesson

found = desk.ask(lesson.PictureHeadsQuery(lesson.MODEL, sources.revision(lesson.MODEL))).result()
for role, each in found.roles.items():
    best = each.best.accuracy
    print(f"{role}: {best.value:.1%} ({best.low:.1%} to {best.high:.1%}), best fixed offset {each.fixed.value:.1%}, "
          f"random digit {found.chance:.1%}")
for kind, (seen, blind) in lesson.accuracies(desk.scores(lesson.MODEL)).items():
    print(f"{kind}: {seen.value:.1%}; without the picture at most {blind:.1%}")
asked = lesson.question(0, "left")
for hidden in ((), (asked.cell,)):
    record = desk.ask(lesson.query(0, "left", hidden)).result()
    print(asked.question, record.prediction.texts[-1][0], "hidden" if hidden else "visible")
# %% [markdown]
# **Exercise.** Set `changed` to the role whose hidden patch changes the answer least often.
# %%
changed = min(found.hidden, key=found.hidden.get)  # solution
assert changed is not ... and found.hidden[changed] == min(found.hidden.values()), "compare"
print(f"Right: hiding {changed} changes {found.hidden[changed]:.0%} of the answers.")
