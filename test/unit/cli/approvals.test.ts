import { expect, test } from 'vitest'
import { wantedApproval } from '../../../src/cli/commands/account/approvals.ts'
import { requireNoneOpen } from '../../../src/cli/commands/account/approvals-revoke.ts'
import { clientOrderId } from '../../../src/domain/order/intent.ts'
import type { ApprovalPolicy } from '../../../src/domain/settings.ts'
import { NO_CAPS } from '../../../src/domain/strategy.ts'
import { type JournalEvent, reduce } from '../../../src/journal/events/registry.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { ACCOUNT, GASLESS, USDC, WETH } from '../../simulation/stage.ts'
import {
  anIntent,
  aPermit,
  aStrategy,
  capOf,
  NOON_SECONDS,
  OPEN,
  usdc,
} from '../../support/builders.ts'

const UNCAPPED = { ...ACCOUNT, perDay: NO_CAPS }

function wanted(
  strategies: readonly Strategy[],
  { approval = 'budget' as ApprovalPolicy, account = UNCAPPED, token = USDC } = {},
) {
  return wantedApproval(token, {
    settings: { gasless: { ...GASLESS, approval }, limits: account },
    strategies,
    state: emptyState(),
    nowMs: NOON_SECONDS * 1_000,
  })
}

const capped = (name: string, amount: number): Strategy =>
  aStrategy({ name, limits: { ...OPEN, perDay: capOf(USDC, usdc(amount)) } })

test('a token that no enabled strategy sells needs no approval', () => {
  expect(wanted([aStrategy({ enabled: false })])).toEqual({ type: 'nothing' })
  expect(wanted([aStrategy()], { token: WETH })).toEqual({ type: 'nothing' })
})

test('approval policies exact and unlimited follow the config', () => {
  expect(wanted([aStrategy()], { approval: 'exact' })).toEqual({ type: 'exact' })
  expect(wanted([aStrategy()], { approval: 'unlimited' })).toEqual({ type: 'unlimited' })
})

test('a budget is the daily cap of the account, or else the largest cap of a strategy', () => {
  const strategies = [capped('one', 100), capped('two', 300)]
  expect(wanted(strategies)).toEqual({ type: 'budget', amount: usdc(300) })
  const account = { ...ACCOUNT, perDay: capOf(USDC, usdc(50)) }
  expect(wanted(strategies, { account })).toEqual({ type: 'budget', amount: usdc(50) })
})

test('a signed order blocks revoking allowances, and a planned order does not', () => {
  const state = emptyState()
  const intent = anIntent()
  const { id, strategy, slotSeconds } = intent
  const journal = (event: JournalEvent) => reduce(state, event, NOON_SECONDS * 1_000)
  journal({ type: 'strategy-scheduled', strategy, scheduleKey: '0 * * * * UTC', fromSeconds: 0 })
  journal({ type: 'slot-opened', strategy, slotSeconds, intents: [intent] })
  requireNoneOpen(undefined)
  requireNoneOpen(state)
  const named = { attempt: 1, clientOrderId: clientOrderId(id, 1), quoteId: 'q', fromBlock: 1n }
  const permit = { ...aPermit(), ...named, digest: '0x01' } as const
  journal({ type: 'permit-recorded', intentId: id, permit })
  expect(() => requireNoneOpen(state)).toThrow(`1 order is open (${id})`)
})
