import { setImmediate } from 'node:timers/promises'

const SLICE_MS = 4

/** Yields to other work, such as orders, whenever reading and handling have taken a few milliseconds. */
export async function* inSlices<Item>(
  items: AsyncIterable<Item>,
  rest: () => Promise<unknown> = () => setImmediate(),
): AsyncGenerator<Item> {
  let sinceMs = performance.now()
  for await (const item of items) {
    yield item
    if (performance.now() - sinceMs < SLICE_MS) continue
    await rest()
    sinceMs = performance.now()
  }
}
