"""The older name of `cowboy_sdk.guards`."""

from cowboy_sdk.guards import *
