"""``python -m rankpursuit``: all commands in one."""

from rankpursuit.cli.main import main

if __name__ == "__main__":
    main(prog_name="python -m rankpursuit")
