"""The paper's tables: which runs they are made of, carrying these out, and what comes out."""
