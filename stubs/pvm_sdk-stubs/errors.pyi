"""The older name of `cowboy_sdk.errors`."""

from cowboy_sdk.errors import *
