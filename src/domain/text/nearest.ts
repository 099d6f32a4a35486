/** Longer words are not typed by hand, and the cost is the product of both lengths. */
const LENGTH_MAX = 64

/** The candidate that `word` is probably a typo of, ignoring case; undefined if none is close. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  if (word === '' || word.length > LENGTH_MAX) return undefined
  const wanted = word.toLowerCase()
  let best: string | undefined
  // Swapping two letters counts as two edits, so words of four letters or more may have two.
  let bestDistance = word.length < 4 ? 2 : Math.max(2, Math.floor(word.length / 3)) + 1
  for (const candidate of candidates) {
    const distance = editDistance(wanted, candidate.toLowerCase())
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

export function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const substitute = at(previous, column - 1) + (a[row - 1] === b[column - 1] ? 0 : 1)
      current.push(Math.min(substitute, at(previous, column) + 1, at(current, column - 1) + 1))
    }
    previous = current
  }
  return at(previous, b.length)
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY
}

/** Error text for an unknown strategy, with a suggestion. */
export function strangerText(name: string, known: Iterable<string>): string {
  const names = [...known].sort()
  const meant = nearest(name, names)
  if (meant !== undefined) return `no strategy is called ${name}; did you mean ${meant}?`
  return names.length === 0
    ? `no strategy is called ${name}, and there is none`
    : `no strategy is called ${name}; there are: ${names.join(', ')}`
}
