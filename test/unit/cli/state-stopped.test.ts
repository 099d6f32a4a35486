import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stateBackup } from '../../../src/cli/commands/state/state.ts'
import { BOUND } from '../../support/state/journal-events.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'
import { aProject, printed } from './reading-fixture.ts'

test('a backup stopped by a signal ends with an error and leaves no files', async () => {
  const { config } = await aProject([BOUND])
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
