"""Sessions in other formats than the recording's own and the view's."""
