"""How PyTorch's functions are called: arguments by name, what is refused, plans of calls, errors and named results."""
