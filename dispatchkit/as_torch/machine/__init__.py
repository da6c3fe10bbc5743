"""What programs ask of the machine and say to it: precision, threads, generators."""
