"""Models of pictures: from a picture to patches, and the two towers of those that read texts as well."""
