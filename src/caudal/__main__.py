"""Run the command line as `python -m caudal`."""

from caudal.cli import main

if __name__ == "__main__":
    main()
