"""`python -m unstarve COMMAND ...`: the program `unstarve` of an installed package.

Example:
    python -m unstarve demo photos/
"""

from unstarve_program import main

if __name__ == "__main__":
    main()
