"""`python -m trajopt` is the command `trajopt`."""

from trajopt.cli import main

if __name__ == "__main__":
    main()
