"""Why a timer fired or did not, what one costs, and both in sentences."""
