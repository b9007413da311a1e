package blosc

// encodeBloscLZ compresses src into dst and returns the length; 0 if dst is too short.
func encodeBloscLZ(dst, src []byte, level int) int { return 0 }
