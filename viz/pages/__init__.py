"""The pages, one file each. A page asks the frame for records and shows them; it never imports another page."""
