import { expect, test } from 'vitest'
import { resume } from '../../../src/engine/daemon-control.ts'
import { openForTest, temporaryDirectory } from '../../support/state/state-directory.ts'

test('resuming does not lift a halt by evidence that arrives while a HALT file is journaled', async () => {
  const { journal } = await openForTest(temporaryDirectory())
  const file: { text: string | undefined } = { text: 'halted by root' }
  const haltFile = {
    status: () => file.text,
    lift: () => {
      file.text = undefined
    },
  }
  const resumed = resume({ journal, haltFile }, undefined)
  expect(journal.state.halted).toMatchObject({ cause: 'operator', detail: 'halted by root' })
  await journal.append({ type: 'halted', cause: 'evidence', detail: 'a strange payment' })
  expect(await resumed).toEqual({
    ok: false,
    detail: 'everything stays halted: a strange payment',
  })
  expect(journal.state.halted).toMatchObject({ cause: 'evidence' })
  expect(file.text).toBe('halted by root')
  expect(await resume({ journal, haltFile }, undefined)).toMatchObject({ ok: true })
  expect(journal.state.halted).toBeUndefined()
})
