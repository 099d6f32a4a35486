const SLICE_MS = 4

/** Items as they come, with a rest whenever reading and handling them took a few milliseconds: orders go first. */
export async function* inSlices<Item>(
  items: AsyncIterable<Item>,
  rest: () => Promise<unknown>,
): AsyncGenerator<Item> {
  let sinceMs = performance.now()
  for await (const item of items) {
    yield item
    if (performance.now() - sinceMs < SLICE_MS) continue
    await rest()
    sinceMs = performance.now()
  }
}
