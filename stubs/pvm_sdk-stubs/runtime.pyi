"""The older name of `cowboy_sdk.runtime`."""

from cowboy_sdk.runtime import *
