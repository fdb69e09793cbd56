"""The older name of `cowboy_sdk`."""

from cowboy_sdk import *
