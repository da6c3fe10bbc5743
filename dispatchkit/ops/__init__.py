"""What can be called: a file for each chapter of the array API standard, each operation with its derivative."""
