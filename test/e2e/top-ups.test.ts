import { expect, onTestFinished, test } from 'vitest'
import type { SlotData } from '../../src/cli/json/inspect-outputs.ts'
import { formatAmount } from '../../src/domain/money/units.ts'
import type { Running } from '../support/process/cli.ts'
import { startScriptedServer } from '../support/process/scripted-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { all } from './audit.ts'
import { chargesOf, chargesRecorded, IDLE, runUntil, STRATEGY, writeClaims } from './claims.ts'
import {
  DEPOSIT,
  ether as etherData,
  type Funds,
  journaled,
  type Operator,
  servedTo,
  setUpAccount,
  tankBalance,
} from './operator.ts'
import { metricsOf, startRehearsalInside } from './rehearsal.ts'

const TOP_UP = 10n ** 16n

/** Lines of a daemon's log with this event, in order. */
function logged(daemon: Running, event: string): readonly Record<string, unknown>[] {
  return daemon
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line): Record<string, unknown> => JSON.parse(line))
    .filter((line) => line['event'] === event)
}

test('a falling deposit raises the alarm and is topped up once, never above the daily cap, as the gauges show', async () => {
  // Charges stay outstanding, so that every gauge has a value.
  const operator = await setUpAccount(
    await startRehearsalInside(IDLE, { aggregator: { settleEvery: 0 } }),
  )
  const { rehearsal, account, data, edit } = operator
  const receiver = await startScriptedServer()
  onTestFinished(() => receiver.close())
  receiver.answerWith(() => ({ status: 200 }))
  const { available } = await data<Funds>('gastank status')
  const threshold = available.amount
  const topUp = { below: threshold, amount: '0.01', maxPerDay: '0.065' }
  edit((config) => {
    config.aggregator.gasTank = { alertBelow: threshold, topUp }
    config.notify = { webhooks: [{ url: receiver.url, on: ['low-funds'] }] }
  })
  writeClaims(operator)
  const falling = await runUntil(operator, (events) => {
    const ended = all(events, 'transaction-ended').filter(({ id }) => id.startsWith('deposit:'))
    return all(events, 'call-proven').length >= 5 && ended.length === 2
  })

  const [alert, ...more] = logged(falling, 'gas-tank-low')
  expect(alert).toMatchObject({ level: 'warn', account: 'operator' })
  expect(more).toEqual([])
  expect(Number(alert?.['available'])).toBeLessThan(Number(threshold))
  expect(receiver.requests.map(({ body }) => JSON.parse(body).details)).toEqual([
    { account: 'operator', available: alert?.['available'] },
  ])
  expect(await depositsOf(operator)).toEqual([DEPOSIT, TOP_UP])
  const { slots } = await data<{ slots: SlotData[] }>(`history --strategy ${STRATEGY}`)
  for (const slot of slots) expect(slot).toMatchObject({ outcome: 'filled', attempts: 1 })
  // A deposit in between may hide a log line; every line that appears is correct.
  const recorded = (await chargesRecorded(operator)).filter((each) => each.recorded !== undefined)
  expect(recorded.length).toBeGreaterThanOrEqual(slots.length - 2)
  expect(recorded.map((each) => each.recorded)).toEqual(recorded.map(({ taken }) => taken))

  const owed = chargesOf(await servedTo(operator))
  await waitForIndexing(operator)
  // The daemon maintains the tank only while it makes calls, and nothing moves while none is due.
  writeClaims(operator, { schedule: { cron: '0 0 1 1 *' } })
  edit((config) => {
    config.aggregator.gasTank.topUp = { ...topUp, below: '0.06' }
  })
  const capped = rehearsal.daemon()
  await capped.sees(/top-up-capped/)
  const gauges = await metricsOf(capped)
  expect((await capped.stop()).code).toBe(0)
  const gauge = (name: string) => gauges.get(`tranched_gastank_${name}_ether{account="operator"}`)
  const funded = DEPOSIT + TOP_UP
  expect(await tankBalance(operator, 'deployed')).toBe(funded)
  expect(await data('gastank status')).toMatchObject({
    account,
    balance: etherData(funded),
    outstandingCharge: etherData(owed),
  })
  expect(gauge('balance')).toBe(ether(funded))
  expect(gauge('outstanding')).toBe(ether(owed))
  expect(gauge('available')).toBe(ether(funded - owed))
  expect(await depositsOf(operator)).toEqual([DEPOSIT, TOP_UP])
})

/** Wei of every deposit that the account's wallet signed, from the journal. */
async function depositsOf(operator: Operator): Promise<readonly bigint[]> {
  return all(await journaled(operator), 'transaction-recorded')
    .filter(({ transaction }) => transaction.purpose === 'deposit')
    .map(({ transaction }) => transaction.value)
}

async function waitForIndexing({ data }: Operator): Promise<void> {
  const status = () => data<{ indexing: boolean }>('gastank status')
  await waitFor('indexing to end', status, ({ indexing }) => !indexing)
}

function ether(wei: bigint): number {
  return Number(formatAmount(wei, 18))
}
