import PQueue from 'p-queue'
import { afterAll, beforeAll, test } from 'vitest'
import { commandsOf, fencesOf, PAGES } from '../support/typed/fences.ts'
import { READ_TOGETHER } from '../support/typed/pages.ts'
import { type Clone, makeClone } from '../support/typed/terminal.ts'
import { typePages } from '../support/typed/type-pages.ts'
import { findBinary } from './binary.ts'

let clone: Clone
/** Pages mostly wait for fills. */
const sideBySide = new PQueue({ concurrency: 2 })

beforeAll(async () => {
  clone = await makeClone(findBinary)
})

afterAll(() => clone?.remove())

/** What takes longest begins first; every other page has a clone of its own. */
const LONGEST = [
  ['docs/monitoring.md'],
  ['README.md'],
  READ_TOGETHER,
  ...[['docs/live.md'], ['docs/calls.md'], ['docs/recovery.md']],
]
const OTHERS = PAGES.filter((page) => !LONGEST.flat().includes(page)).map((page) => [page])

for (const pages of [...LONGEST, ...OTHERS]) {
  const fences = pages.flatMap((page) => fencesOf(page))
  if (fences.flatMap(commandsOf).length === 0) continue
  test.concurrent(`the commands of ${pages.join(', ')} do in a clean clone what the page says`, async (context) => {
    await sideBySide.add(() => typePages({ fences, clone, context }))
  })
}
