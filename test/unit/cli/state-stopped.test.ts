import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stateBackup } from '../../../src/cli/commands/state/state.ts'
import { BOUND } from '../../support/state/journal-events.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'
import { aPlace, printed } from './reading-fixture.ts'

test('a backup that is told to end by a signal ends, says so, and leaves nothing behind', async () => {
  const { config } = await aPlace([BOUND])
  const beside = join(temporaryDirectory(), 'backups')
  mkdirSync(beside)
  let isOff = false
  const onSignal = (listener: (name: string) => void) => {
    listener('SIGTERM')
    return () => {
      isOff = true
    }
  }
  const target = join(beside, 'monday')
  const made = printed((io) => stateBackup(target, { config }, { ...io, onSignal }))
  await expect(made).rejects.toThrow(
    'stopped by SIGTERM: nothing was changed, and nothing is left behind',
  )
  expect([readdirSync(beside), isOff]).toEqual([[], true])
})
