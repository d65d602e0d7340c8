"""How two sessions compare: values by stable names, a canonical form, and what belongs to what."""
