/** The interpolated quantile `at` (0 to 1) of the numbers. */
export function quantile(numbers, at) {
  const sorted = [...numbers].sort((a, b) => a - b)
  const place = (sorted.length - 1) * at
  const low = Math.floor(place)
  const high = Math.min(low + 1, sorted.length - 1)
  return sorted[low] + (sorted[high] - sorted[low]) * (place - low)
}

export function median(numbers) {
  return quantile(numbers, 0.5)
}

/** A number with about three significant digits, for display. */
export function short(number) {
  return Math.abs(number) >= 100 ? String(Math.round(number)) : number.toPrecision(3)
}
