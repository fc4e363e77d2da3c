"""python -m flowveil."""

from flowveil.cli import main

if __name__ == "__main__":
    main()
