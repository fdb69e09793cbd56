"""What the entry point `cowboy_devnet` names: it asks pytest for the plugin.

pytest refuses a module that is registered under two names, with its whole table of
plugins as the reason. Asked for through here as well as by its own name (`-p`, or
`pytest_plugins`), the plugin is loaded once.
"""

pytest_plugins = ("node.testing.plugin",)
