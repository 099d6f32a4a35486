/** Dashes of each look, in pixels: who sees no difference between the colours tells lines apart by these. */
const DASHES: readonly (readonly number[])[] = [
  [],
  [7, 3],
  [2, 3],
  [9, 3, 2, 3],
  [],
  [4, 2],
  [1, 2],
  [12, 4],
]

export function dashOf(look: number): readonly number[] {
  return DASHES[look % DASHES.length] ?? []
}
