import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { AmountData } from '../../src/cli/json/shapes.ts'
import { ROOT, run } from '../support/process/cli.ts'
import { setUpAccount } from './operator.ts'
import { metricsOf, startRehearsal } from './rehearsal.ts'

type Runway = {
  readonly runwaySeconds: number | null
  readonly runwayUnknown: string | null
  readonly available: AmountData
  readonly assumed: { readonly callsPerDay: number; readonly perCall: AmountData } | null
}

test('command and daemon compute the GasTank runway from the scheduled calls, and broken strategies hide nothing else', async () => {
  const text = readFileSync(join(ROOT, 'strategies/sandbox/call.yaml'), 'utf8')
  const rehearsal = await startRehearsal({ call: text })
  const operator = await setUpAccount(rehearsal)
  expect(await operator.command('gastank status')).toMatch(/^lasts +.* each by simulation\)$/m)
  const daemon = rehearsal.daemon()
  await daemon.sees(/executed call/)
  const labels = 'tranched_runway_seconds{resource="gastank"}'
  expect((await metricsOf(daemon)).get(labels)).toBeGreaterThan(0)
  expect((await daemon.stop()).code).toBe(0)

  const { assumed, available, runwaySeconds } = await operator.data<Runway>('gastank status')
  expect(assumed?.callsPerDay).toBe(17_280)
  const calls = Number(available.amount) / Number(assumed?.perCall.amount)
  expect(Math.abs((runwaySeconds ?? 0) / 5 - calls)).toBeLessThan(3)
  const status = await operator.command('gastank status')
  expect(status).toMatch(/^lasts +\d+[hm].* \(1 call every 5s, 0\.0+\d\d? ETH each\)$/m)
  expect(status).toMatch(/^delegation +0\.0+\d+ ETH so far/m)

  writeFileSync(join(rehearsal.dir, 'strategies/call.yaml'), `${text}\namonut: 3\n`)
  const broken = await run(['gastank', 'status', '--config', rehearsal.config])
  expect([broken.code, broken.stderr]).toEqual([0, ''])
  expect(broken.stdout).toMatch(/^lasts +not known: call\.yaml cannot be read/m)
  expect(broken.stdout).toMatch(/^available +0\.04/m)
  expect((await operator.data<Runway>('gastank status')).runwaySeconds).toBeNull()
})
