"""A drawing for paper: its lines take fewer bytes, what is written in it stays as it is."""
from viz.handout.print_svg import smaller


def test_lines_lose_digits_and_words_keep_theirs():
    drawing = ('<svg width="72.123456pt">\n <path d="M 0.123456 2\nL 3.999 2"/>\n'
               '<text x="1.23456">3.14159 → 0.040</text></svg>')
    assert smaller(drawing) == ('<svg width="72.12pt"><path d="M 0.12 2L 4 2"/>'
                                '<text x="1.23">3.14159 → 0.040</text></svg>')
