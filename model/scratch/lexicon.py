"""The vocabulary of the resolver's and the translator's small world: English words with French translations, written
for this project.

Nouns are in assets/lexicon/nouns.toml. Adjectives are written english:masculine:feminine. Words in tables named
HELD_OUT never occur in training.
"""
import tomllib
from dataclasses import dataclass

from model.core.files import ASSETS

NOUNS = tomllib.loads((ASSETS / "lexicon" / "nouns.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Noun:
    """A noun in both languages."""

    english: str
    french: str
    feminine: bool


@dataclass(frozen=True)
class Adjective:
    """An adjective with its two French forms."""

    english: str
    masculine: str
    feminine: str


@dataclass(frozen=True)
class Frame:
    """A situation in which an adjective decides between two nouns, called actor and place. Verbs are (past,
    present)."""

    name: str                  # name of the situation
    english: tuple[str, str]   # the words between the two nouns
    french: tuple[str, str]    # the same in French
    first: str                 # the pools of the first noun
    second: str                # the pools of the second noun
    actor: str                 # the adjectives that make "it" the first noun
    place: str                 # the adjectives that make "it" the second noun


def _nouns(table: str) -> dict[str, dict[str, Noun]]:
    """Return the pools of a table in assets/lexicon/nouns.toml: {pool: {english: noun}}."""
    return {pool: {english: Noun(english, *_french(noun)) for english, noun in nouns.items()}
            for pool, nouns in NOUNS[table].items()}


def _french(entry: str) -> tuple[str, bool]:
    french, gender = entry.split(":")
    return french, gender == "f"


def _adjectives(lines: str) -> dict[str, Adjective]:
    return {each.split(":")[0]: Adjective(*each.split(":")) for each in lines.split()}


POOLS, HELD_OUT_NOUNS = _nouns("pools"), _nouns("held_out")

ADJECTIVES = _adjectives("""
    tired:fatigué:fatiguée lazy:paresseux:paresseuse scared:effrayé:effrayée sleepy:endormi:endormie
    hungry:affamé:affamée sick:malade:malade shy:timide:timide nervous:nerveux:nerveuse weak:faible:faible
    old:vieux:vieille young:jeune:jeune slow:lent:lente strong:fort:forte brave:courageux:courageuse
    fast:rapide:rapide quick:vif:vive clever:rusé:rusée powerful:puissant:puissante modern:moderne:moderne
    wide:large:large long:long:longue noisy:bruyant:bruyante muddy:boueux:boueuse dangerous:dangereux:dangereuse
    crowded:bondé:bondée dark:sombre:sombre icy:glacé:glacée slippery:glissant:glissante flooded:inondé:inondée
    big:gros:grosse huge:énorme:énorme thick:épais:épaisse bulky:encombrant:encombrante heavy:lourd:lourde
    tall:haut:haute small:petit:petite narrow:étroit:étroite tiny:minuscule:minuscule short:court:courte
    full:plein:pleine thin:mince:mince low:bas:basse light:léger:légère fragile:fragile:fragile rotten:pourri:pourrie
    worn:usé:usée""")

HELD_OUT_ADJECTIVES = _adjectives("""
    exhausted:épuisé:épuisée timid:craintif:craintive broad:ample:ample steep:raide:raide enormous:immense:immense
    rigid:raide:raide cramped:exigu:exiguë little:menu:menue sluggish:poussif:poussive swift:prompt:prompte
    feeble:chétif:chétive hefty:pesant:pesante massive:massif:massive brittle:cassant:cassante""")

# An adjective alone does not decide: "too small" refers to the place in fit but to the actor in cover. fit and contain
# are opposites, as are attack and fear.
FRAMES = (
    Frame("cross", ("didn't cross", "doesn't cross"), ("n' a pas traversé", "ne traverse pas"), "animals", "places",
          "tired lazy scared sleepy hungry sick shy nervous weak old slow",
          "wide long noisy muddy dangerous crowded dark icy slippery flooded"),
    Frame("fit", ("didn't fit in", "doesn't fit in"), ("ne tenait pas dans", "ne tient pas dans"),
          "objects containers", "containers",
          "big huge wide long thick bulky tall", "small narrow tiny short low full"),
    Frame("contain", ("didn't contain", "doesn't contain"), ("ne contenait pas", "ne contient pas"), "containers",
          "objects containers",
          "small narrow tiny short low", "big huge wide long thick bulky tall"),
    Frame("overtake", ("didn't overtake", "doesn't overtake"), ("n' a pas dépassé", "ne dépasse pas"), "vehicles",
          "vehicles",
          "slow old weak worn", "fast quick powerful modern"),
    Frame("tow", ("couldn't tow", "can't tow"), ("ne pouvait pas remorquer", "ne peut pas remorquer"), "vehicles",
          "vehicles",
          "weak small light old worn", "heavy big huge bulky long"),
    Frame("carry", ("couldn't carry", "can't carry"), ("ne pouvait pas porter", "ne peut pas porter"),
          "animals vehicles", "objects containers",
          "weak small tiny old light", "heavy big huge bulky long"),
    Frame("cover", ("didn't cover", "doesn't cover"), ("ne couvrait pas", "ne couvre pas"), "cloths", "furniture",
          "small short narrow tiny", "big huge wide long tall"),
    Frame("attack", ("didn't attack", "doesn't attack"), ("n' a pas attaqué", "n' attaque pas"), "animals", "animals",
          "weak slow small young", "strong fast big clever brave"),
    Frame("fear", ("didn't fear", "doesn't fear"), ("ne craignait pas", "ne craint pas"), "animals", "animals",
          "strong fast big clever brave", "weak slow small young"),
    Frame("support", ("didn't support", "doesn't support"), ("ne supportait pas", "ne supporte pas"), "furniture",
          "objects containers",
          "weak fragile rotten thin old worn", "heavy huge bulky big"),
)

HELD_OUT_FRAMES = (
    Frame("pass", ("didn't pass under", "doesn't pass under"), ("ne passait pas sous", "ne passe pas sous"),
          "vehicles", "furniture",
          "tall huge big bulky wide", "low narrow small tiny"),
    Frame("follow", ("couldn't follow", "can't follow"), ("ne pouvait pas suivre", "ne peut pas suivre"), "animals",
          "vehicles",
          "slow tired old lazy sick", "fast quick powerful modern"),
)

# Held-out adjectives that make sense after "too", by frame: (for the actor, for the place).
HELD_OUT_ROLES = {
    "cross": ("exhausted timid", "broad steep"), "fit": ("enormous rigid", "cramped little"),
    "contain": ("cramped little", "enormous broad"),
    "overtake": ("sluggish", "swift"), "tow": ("feeble little", "hefty massive"),
    "carry": ("feeble little", "hefty massive"),
    "cover": ("little cramped", "enormous broad"), "attack": ("feeble timid", "swift massive"),
    "fear": ("massive", "feeble little"),
    "support": ("brittle feeble", "hefty massive"),
}

OPENINGS = (  # for the past, for the present
    (("yesterday ,", "hier ,"), ("this morning ,", "ce matin ,"), ("in the end ,", "finalement ,"),
     ("when the rain stopped ,", "quand la pluie a cessé ,"), ("after we left ,", "après notre départ ,")),
    (("as everyone knows ,", "comme chacun sait ,"), ("they say that", "on dit que"), ("most days ,", "d' habitude ,"),
     ("when the rain stops ,", "quand la pluie cesse ,")),
)
INSERTIONS = (
    ("over there", "là-bas"), ("of our neighbour", "de notre voisin"), ("from the village", "du village"),
    ("near the house", "près de la maison"),
)
# The reason is a clause of the same sentence or a second sentence.
CONNECTORS = (
    ("because it {is} too {adjective}", "parce qu' {it} {is} trop {adjective}"),
    ("since it {is} far too {adjective}", "puisqu' {it} {is} bien trop {adjective}"),
    (", for it {is} too {adjective}", ", car {it} {is} trop {adjective}"),
    (". it {is} simply too {adjective}", ". {it} {is} tout simplement trop {adjective}"),
)
