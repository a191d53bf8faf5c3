"""Planning engine for LLM serving: catalogs and scenarios in, a plan of checked numbers out."""
