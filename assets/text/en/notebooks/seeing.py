# %% [markdown]
# A small vision–language model: where its heads look from the last token of a question, over held-out pictures; and
# one question, with the patch of the named digit visible and hidden.
# %%
from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.lessons import picture_answers as lesson

revision = sources.revision(lesson.MODEL)
found = desk.ask(lesson.PictureHeadsQuery(lesson.MODEL, revision)).result()
for role, each in found.roles.items():
    best = each.best.accuracy
    print(f"{role}: {best.value:.1%} ({best.low:.1%} to {best.high:.1%}), best fixed offset {each.fixed.value:.1%}, "
          f"random digit {each.chance:.1%}")
for kind, (seen, blind) in lesson.accuracies().items():
    print(f"{kind}: {seen.value:.1%}; without the picture at most {blind:.1%}")
asked = lesson.question(0, "left")
for hidden in ((), (asked.cell,)):
    record = desk.ask(lesson.query(0, asked, revision, hidden)).result()
    print(asked.question, record.prediction.texts[-1][0], "hidden" if hidden else "visible")
# %% [markdown]
# **Exercise.** Set `changed` to the role whose hidden patch changes the answer least often.
# %%
changed = min(found.hidden, key=lambda role: found.hidden[role].value)  # solution
shares = {role: each.value for role, each in found.hidden.items()}
assert changed is not ... and shares[changed] == min(shares.values()), "compare"
print(f"Right: hiding {changed} changes {shares[changed]:.0%} of the answers.")
