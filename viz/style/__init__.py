"""How everything looks and reads: theme, styles, numbers, texts and colours over photographs."""
