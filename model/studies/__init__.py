"""Studies of attention heads, one question per file or folder: what is asked, what is answered, and the arithmetic in
between. numpy only."""
