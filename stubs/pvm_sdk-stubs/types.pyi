"""The older name of `cowboy_sdk.types`."""

from cowboy_sdk.types import *
