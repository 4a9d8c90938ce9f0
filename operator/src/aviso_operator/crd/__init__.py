"""The resource definition: made from the structs of a manifest and of its status, so that there is one truth.

`structural` turns types into the schema that the API server wants, `texts` finds what stands below each field, `rules`
holds what a schema cannot say, and `definition` puts all of it together. `make crd` writes the file.
"""
