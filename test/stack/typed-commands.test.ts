import PQueue from 'p-queue'
import { afterAll, beforeAll, test } from 'vitest'
import { commandsOf, fencesOf, PAGES } from '../support/typed/fences.ts'
import { type Clone, makeClone } from '../support/typed/terminal.ts'
import { typePage } from '../support/typed/type-page.ts'
import { findBinary } from './binary.ts'

let clone: Clone
/** Pages mostly wait for fills. */
const sideBySide = new PQueue({ concurrency: 2 })

beforeAll(async () => {
  clone = await makeClone(findBinary)
})

afterAll(() => clone?.remove())

/** What takes longest begins first. */
const LONGEST = [
  'docs/monitoring.md',
  'README.md',
  'docs/live.md',
  'docs/calls.md',
  'docs/recovery.md',
]
const rank = (page: string): number =>
  (LONGEST.indexOf(page) + LONGEST.length + 1) % (LONGEST.length + 1)

for (const page of PAGES.toSorted((a, b) => rank(a) - rank(b))) {
  const fences = fencesOf(page)
  if (fences.flatMap(commandsOf).length === 0) continue
  test.concurrent(`the commands of ${page} do in a clean clone what the page says`, async (context) => {
    await sideBySide.add(() => typePage({ fences, clone, context }))
  })
}
