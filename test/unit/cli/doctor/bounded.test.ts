import { expect, test } from 'vitest'
import { fine, inspect, inspectReply, read } from '../../../../src/cli/commands/doctor/check.ts'
import { troubles } from './verdicts.ts'

test('what hangs is given up after its time, and said to be not known', async () => {
  const found = await read('gasless', () => new Promise<never>(() => undefined), 50)
  expect(found.ok ? [] : troubles(found.checks)).toEqual([
    expect.stringMatching(/^unknown gasless: gasless: no answer within 0\.05 s/),
  ])
})

test('what throws becomes one check, and nobody else notices', async () => {
  const ask = () => Promise.reject(new Error('out of order'))
  const checks = await inspect('disk-room', ask, () => [fine('disk-room', 'never said')])
  expect(troubles(checks)).toEqual([
    'unknown disk-room: disk-room: could not be checked: out of order -> nothing',
  ])
})

test('what a chain does not answer is a fault with its message', async () => {
  const fault = { ok: false, fault: { message: 'node 1 of 1: pruned' } } as const
  const checks = await inspectReply(
    'code',
    () => Promise.resolve(fault),
    () => [],
  )
  expect(troubles(checks)).toEqual([expect.stringMatching(/^fault code: .*node 1 of 1: pruned/)])
})
