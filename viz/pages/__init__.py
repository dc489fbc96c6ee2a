"""The pages, one module each. A page asks the frame for records and draws them. Pages never import one another."""
