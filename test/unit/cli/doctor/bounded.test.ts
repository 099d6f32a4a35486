import { expect, test } from 'vitest'
import { fine, inspect, inspectReply, read } from '../../../../src/cli/commands/doctor/check.ts'
import { findings } from './verdicts.ts'

test('a hanging check is given up after its time limit and reported as unknown', async () => {
  const found = await read('gasless', () => new Promise<never>(() => undefined), 50)
  expect(found.ok ? [] : findings(found.checks)).toEqual([
    expect.stringMatching(/^unknown gasless: gasless: no answer within 0\.05 s/),
  ])
})

test('a throwing check becomes one unknown finding and affects no other check', async () => {
  const ask = () => Promise.reject(new Error('out of order'))
  const checks = await inspect('disk-room', ask, () => [fine('disk-room', 'never said')])
  expect(findings(checks)).toEqual([
    'unknown disk-room: disk-room: could not be checked: out of order -> nothing',
  ])
})

test('a chain read without an answer is a fault with its message', async () => {
  const fault = {
    ok: false,
    fault: { tag: 'unavailable', message: 'node 1 of 1: pruned' },
  } as const
  const checks = await inspectReply(
    'code',
    () => Promise.resolve(fault),
    () => [],
  )
  expect(findings(checks)).toEqual([expect.stringMatching(/^fault code: .*node 1 of 1: pruned/)])
})
