import { expect, onTestFinished, test } from 'vitest'
import { keepGasTank } from '../../../src/engine/accounts/gas-tank.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import type { AggregatorReply, GasTankAccount } from '../../../src/ports.ts'
import { createKey } from '../../../src/signing/keys/key.ts'
import { openJournal } from '../../../src/store/file/journal-file.ts'
import { callContext } from '../../support/aggregator/call-venue.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'
import { fakeAggregator } from '../venues/call/aggregator-fixture.ts'

/** Runtime events of `inspections` inspections; each uses the next of `answers`, then repeats the last. */
async function inspect(
  inspections: number,
  answers: readonly AggregatorReply<GasTankAccount>[],
): Promise<readonly RuntimeEvent[]> {
  const key = createKey(new Uint8Array(32).fill(7))
  const { tools, answers: service, clock } = fakeAggregator({ key })
  const dir = temporaryDirectory()
  const opened = await openJournal({ dir, clock, onFatal: (error) => void error })
  onTestFinished(() => opened.close())
  tools.signBy(opened.journal)
  const closing = new AbortController()
  const observed: RuntimeEvent[] = []
  let inspected = 0
  service.accountInfo = () => {
    const answer = answers[Math.min(inspected, answers.length - 1)]
    inspected += 1
    if (inspected === inspections) closing.abort()
    if (answer === undefined) throw new Error('no answer was given')
    return answer
  }
  const { aggregator } = tools
  const context = callContext({
    ...{ key, lines: aggregator, journal: opened.journal, settings: aggregator.settings },
    strategies: [],
    closing: closing.signal,
    observe: (event) => void observed.push(event),
  })
  await keepGasTank({ ...context, ports: { ...context.ports, clock } }, aggregator)
  return observed
}

test("the account's delegation is reported at each inspection", async () => {
  const reported = (await inspect(2, [FUNDS])).filter(({ type }) => type === 'account-delegation')
  const unneeded = { account: 'operator', isNeeded: false, isUnread: false }
  expect(reported).toEqual(
    Array(2).fill({
      type: 'account-delegation',
      refusal: 'not-delegated: run `tranched delegation set` for the account',
      ...unneeded,
    }),
  )
})

const FUNDS = { ok: true, value: { balance: 9n, outstandingCharge: 2n } } as const
const fails = (tag: 'unauthenticated' | 'unavailable') =>
  ({ ok: false, fault: { tag, message: 'no' } }) as const

const funds = (observed: readonly RuntimeEvent[]) =>
  observed.filter(({ type }) => type.startsWith('gas-tank'))

test('a rejected login is reported at the first inspection and makes the funds unknown', async () => {
  const observed = await inspect(2, [FUNDS, fails('unauthenticated')])
  expect(funds(observed)).toMatchObject([
    { type: 'gas-tank', balance: 9n, outstanding: 2n },
    { type: 'gas-tank-unknown', account: 'operator', isLogin: true, message: 'no' },
  ])
})

test('a short outage of the service changes nothing; a minute of outage makes the funds unknown', async () => {
  const silent = fails('unavailable')
  expect(funds(await inspect(4, [FUNDS, silent]))).toMatchObject([{ type: 'gas-tank' }])
  const observed = await inspect(6, [FUNDS, silent, silent, silent, silent, FUNDS])
  expect(funds(observed)).toMatchObject([
    { type: 'gas-tank' },
    { type: 'gas-tank-unknown', isLogin: false },
    { type: 'gas-tank' },
  ])
})

test("the wallet's native balance is reported at each inspection, whatever the service answers", async () => {
  const observed = await inspect(2, [fails('unauthenticated')])
  const balance = { wallet: 'operator', token: 'ETH', amount: 10n ** 18n, decimals: 18 }
  expect(observed.filter(({ type }) => type === 'wallet-balance')).toEqual(
    Array(2).fill({ type: 'wallet-balance', ...balance }),
  )
})
