"""`python -m tflmgen`."""

from tflmgen.cli import main

if __name__ == "__main__":
    main()
