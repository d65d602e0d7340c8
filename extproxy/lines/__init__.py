"""What a line is: its bytes to values, and what is odd about lines, framing and ids."""
