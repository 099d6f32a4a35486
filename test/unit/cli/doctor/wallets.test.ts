import { describe, expect, test } from 'vitest'
import {
  checkRights,
  checkTrader,
  type TraderInput,
} from '../../../../src/cli/commands/doctor/check-market.ts'
import {
  checkOperator,
  type OperatorInput,
} from '../../../../src/cli/commands/doctor/check-services.ts'
import { AGGREGATOR } from '../../../simulation/aggregator/aggregation.ts'
import { SPENDER, USDC, WALLET } from '../../../simulation/stage.ts'
import { NOON_SECONDS, usdc } from '../../../support/builders.ts'
import { troubles, verdicts } from './verdicts.ts'

const ETHER = 10n ** 18n

type Changes = {
  readonly nativeBalance?: bigint
  readonly ownerHasCode?: boolean
  readonly balance?: bigint | undefined
  readonly allowance?: bigint | undefined
  readonly sellers?: readonly string[]
  readonly signs?: boolean
}

function trader(changes: Changes = {}) {
  const { sellers = ['weekly'], signs = true } = changes
  const { balance = usdc(100), allowance = usdc(50) } = changes
  const of = <Value>(value: Value | undefined) =>
    new Map(value === undefined ? [] : [[USDC.address, value]])
  const input: TraderInput = {
    owner: WALLET,
    approval: 'budget',
    view: {
      nativeBalance: changes.nativeBalance ?? ETHER,
      ownerHasCode: changes.ownerHasCode ?? false,
      balances: of('balance' in changes ? changes.balance : balance),
      allowances: of('allowance' in changes ? changes.allowance : allowance),
    },
    tokens: [{ token: USDC, sellers, wanted: { type: 'budget', amount: usdc(975) } }],
    signs,
  }
  return checkTrader(input)
}

describe('the wallet that trades', () => {
  test('is fine with ether, tokens and an allowance, and says what is wanted', () => {
    const checks = trader()
    expect(troubles(checks)).toEqual([])
    expect(checks.at(-1)?.says).toBe('USDC: Permit2 may spend 50 USDC; wanted: 975 USDC today')
  })

  test.each([
    ['has code', { ownerHasCode: true }, 'fault trader-code: the trading wallet has code'],
    ['has no ether', { nativeBalance: 0n }, 'fault trader-gas: the trading wallet has 0 ETH'],
    ['has little ether', { nativeBalance: 1n }, 'warning trader-gas'],
    [
      'holds nothing of what is sold',
      { balance: 0n },
      'warning trader-funds: the wallet holds no USDC, which weekly may sell',
    ],
    [
      'has a balance that cannot be read',
      { balance: undefined },
      'fault trader-funds: USDC: its balance cannot be read',
    ],
    ['has an allowance that cannot be read', { allowance: undefined }, 'unknown allowance'],
    [
      'has approved everything',
      { allowance: 2n ** 256n - 1n },
      'warning allowance: USDC: Permit2 may spend all of it',
    ],
    [
      'has approved what nobody sells',
      { sellers: [] },
      'warning allowance: USDC: Permit2 may spend 50 USDC, but no strategy sells it -> `tranched approvals revoke USDC`',
    ],
  ] as const)('that %s', (_, changes, words) => {
    expect(troubles(trader(changes))).toEqual([expect.stringContaining(words)])
  })

  test('that has approved nothing yet is fine: the daemon does', () => {
    expect(verdicts(trader({ allowance: 0n }))).toContain('fine allowance')
  })

  test('of a dry-run needs neither ether nor allowances', () => {
    const checks = trader({ nativeBalance: 0n, allowance: 0n, signs: false })
    expect(verdicts(checks)).toEqual(['fine trader-code', 'fine trader-funds'])
  })
})

describe("rights in Permit2's own table", () => {
  const right = { token: USDC.address, spender: SPENDER, amount: usdc(7) }
  const now = { tokens: [USDC], nowMs: NOON_SECONDS * 1_000 }

  test('that stand are a warning that names spender and amount', () => {
    const standing = { ...right, expiresAtSeconds: NOON_SECONDS + 1 }
    expect(troubles(checkRights([standing], now))).toEqual([
      expect.stringContaining(
        `warning permit2-rights: ${SPENDER} has an allowance in Permit2's own table: 7 USDC`,
      ),
    ])
  })

  test('that have run out are none', () => {
    const over = { ...right, expiresAtSeconds: NOON_SECONDS - 1 }
    expect(verdicts(checkRights([over], now))).toEqual(['fine permit2-rights'])
  })
})

const UNKNOWN = { ok: false, fault: { tag: 'accountNotFound', message: 'no' } } as const

function operator(changes: Partial<OperatorInput> = {}) {
  return checkOperator({
    account: WALLET,
    settings: {
      ...AGGREGATOR,
      gasTank: { methods: 'auto', alertBelowWei: ETHER / 50n, topUp: undefined },
      contracts: { ...AGGREGATOR.contracts, gasTank: SPENDER },
    },
    callers: ['claim'],
    delegation: undefined,
    balance: ETHER,
    tank: { methods: 'balances', balance: ETHER },
    info: { ok: true, value: { balance: ETHER, outstandingCharge: 0n } },
    ...changes,
  })
}

describe('the account behind calls', () => {
  test('is fine when it is delegated, known and funded', () => {
    expect(verdicts(operator())).toEqual([
      'fine operator-delegation',
      'fine operator-gas',
      'fine gastank-contract',
      'fine gastank-account',
      'fine gastank-funds',
    ])
  })

  const low = { ok: true, value: { balance: ETHER / 50n, outstandingCharge: 1n } } as const
  test.each([
    [
      'has no code',
      { delegation: { reason: 'not-delegated' } },
      'fault operator-delegation',
      '`tranched delegation set`',
    ],
    [
      'has no code, and nobody calls',
      { delegation: { reason: 'not-delegated' }, callers: [] },
      'warning operator-delegation',
      '`tranched delegation set`',
    ],
    [
      "has somebody's code, though nobody calls",
      { delegation: { reason: 'foreign-delegation' }, callers: [] },
      'fault operator-delegation',
      'find out who else has the key',
    ],
    ['has no ether of its own', { balance: 0n }, 'warning operator-gas', 'send some to'],
    [
      'has no GasTank',
      { tank: undefined },
      'fault gastank-contract',
      'aggregator.contracts.gasTank',
    ],
    [
      'is not known, and has deposited nothing',
      { info: UNKNOWN, tank: { methods: 'balances', balance: 0n } },
      'fault gastank-account',
      '`tranched gastank deposit',
    ],
    ['is not known yet', { info: UNKNOWN }, 'warning gastank-account', 'wait'],
    [
      'has less than alertBelow',
      { info: low },
      'fault gastank-funds: the GasTank has 0.0199999 ETH available, less than `alertBelow` 0.02 ETH',
      '`tranched gastank deposit',
    ],
  ] as const)('that %s', (_, changes, words, remedy) => {
    const [trouble = '', ...more] = troubles(operator(changes as Partial<OperatorInput>))
    expect([trouble, more]).toEqual([expect.stringContaining(words), []])
    expect(trouble.split(' -> ')[1]).toContain(remedy)
  })

  test('nothing is said of funds where the service was not asked, or did not say', () => {
    const silent = { ok: false, fault: { tag: 'unavailable', message: 'gone' } } as const
    for (const info of [undefined, silent])
      expect(verdicts(operator({ info })).join()).not.toMatch(/gastank-(account|funds)/)
  })
})
