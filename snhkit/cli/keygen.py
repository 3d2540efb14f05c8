"""The command that makes a pair of keys for signatures."""

import click

from snhkit.cli.output import say
from snhkit.cli.types import OutputFile

__all__ = ["keygen"]


@click.command()
@click.argument("key", type=OutputFile())
def keygen(key) -> None:
    """Make a private key to sign releases with, and its public key.

    Keep KEY secret: anyone who has it can sign in your name. Publish KEY.pub, with which others
    verify your signatures.

    \b
    Example:
      snhkit keygen ~/snhkit.key
    """
    from snhkit.release.signature import key_name, new_key

    public = new_key(key)
    say(f"Private key: {key}\nPublic key:  {public}, {key_name(public)}")
