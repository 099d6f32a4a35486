import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { collectGarbage, withSmallHeap } from '../../../src/cli/process/v8-settings.ts'

test('garbage is collected when told, and not by other code', async () => {
  const used = new WeakRef({ files: 1_000 })
  await turn()
  collectGarbage()
  expect(used.deref()).toBeUndefined()
  expect(globalThis.gc).toBeUndefined()
})

test('reading under a small heap returns the result, and passes errors on', () => {
  expect(withSmallHeap(() => 'read')).toBe('read')
  const failing = (): unknown => withSmallHeap(() => JSON.parse('{'))
  expect(failing).toThrow(SyntaxError)
})
