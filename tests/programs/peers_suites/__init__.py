"""Other libraries' own tests over dispatchkit, each with a record of what fails and why."""
