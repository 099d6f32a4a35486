import { expect, test } from 'vitest'
import { look, lookAndJudge, lookAtChain } from '../../../../src/cli/commands/doctor/bounded.ts'
import { fine } from '../../../../src/cli/commands/doctor/check.ts'
import { troubles } from './verdicts.ts'

test('what hangs is given up after its time, and said to be not known', async () => {
  const startedMs = performance.now()
  const looked = await look('gasless', () => new Promise<never>(() => undefined), 50)
  expect(performance.now() - startedMs).toBeLessThan(60_000)
  expect(looked.ok ? [] : troubles(looked.checks)).toEqual([
    expect.stringMatching(/^unknown gasless: gasless: no answer within 0\.05 s/),
  ])
})

test('what throws becomes one check, and nobody else notices', async () => {
  const ask = () => Promise.reject(new Error('out of order'))
  const checks = await lookAndJudge('disk-room', ask, () => [fine('disk-room', 'never said')])
  expect(troubles(checks)).toEqual([
    'unknown disk-room: disk-room: it could not be looked at: out of order -> nothing',
  ])
})

test('what a chain does not answer is a fault with its message', async () => {
  const fault = { ok: false, fault: { message: 'node 1 of 1: pruned' } } as const
  const checks = await lookAtChain(
    'code',
    () => Promise.resolve(fault),
    () => [],
  )
  expect(troubles(checks)).toEqual([expect.stringMatching(/^fault code: .*node 1 of 1: pruned/)])
})
