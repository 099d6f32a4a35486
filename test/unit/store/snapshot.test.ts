import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { emptyState, imageOf } from '../../../src/journal/state/state-image.ts'
import { SnapshotFile } from '../../../src/store/file/snapshot.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

test('the image of a state is released after its write', async () => {
  const name = join(temporaryDirectory(), 'state.json')
  const file = new SnapshotFile(name)
  const write = async () => {
    const state = imageOf(emptyState())
    await file.write({ seq: 1, hash: '0x01', atMs: 1, state })
    return new WeakRef(state)
  }
  const image = await write()
  // Values read in one turn of the event loop live until its end.
  await setImmediate()
  collectGarbage()
  expect(image.deref()).toBeUndefined()
  expect(await new SnapshotFile(name).read()).toMatchObject({ tag: 'sound', snapshot: { seq: 1 } })
})
