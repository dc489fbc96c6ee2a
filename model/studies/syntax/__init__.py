"""Do heads follow grammar? Whether each head's most looked-at word is the one that a treebank ties the word to."""
