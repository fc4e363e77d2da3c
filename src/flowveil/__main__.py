"""python -m flowveil."""

from flowveil._cli import main

if __name__ == "__main__":
    main()
