"""Entry point of `python -m trajopt`, the same as the command `trajopt`."""

from trajopt.cli import main

if __name__ == "__main__":
    main()
