"""The older name of `cowboy_sdk.codec`."""

from cowboy_sdk.codec import *
