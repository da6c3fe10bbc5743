"""How an operation is declared, and what follows from it."""
