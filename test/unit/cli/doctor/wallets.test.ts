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
import { findings, verdicts } from './verdicts.ts'

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

describe('trading wallet check', () => {
  test('passes a wallet with ether, tokens and an allowance, and shows the wanted allowance', () => {
    const checks = trader()
    expect(findings(checks)).toEqual([])
    expect(checks.at(-1)?.says).toBe('USDC: Permit2 may spend 50 USDC; wanted: 975 USDC today')
  })

  test.each([
    [
      'code at the wallet',
      { ownerHasCode: true },
      'fault trader-code: the trading wallet has code',
    ],
    [
      'a wallet without ether',
      { nativeBalance: 0n },
      'fault trader-gas: the trading wallet has 0 ETH',
    ],
    ['a wallet with little ether', { nativeBalance: 1n }, 'warning trader-gas'],
    [
      'a zero balance of a sold token',
      { balance: 0n },
      'warning trader-funds: the wallet holds no USDC, which weekly may sell',
    ],
    [
      'an unreadable balance',
      { balance: undefined },
      'fault trader-funds: USDC: its balance cannot be read',
    ],
    ['an unreadable allowance', { allowance: undefined }, 'unknown allowance'],
    [
      'an unlimited allowance',
      { allowance: 2n ** 256n - 1n },
      'warning allowance: USDC: Permit2 may spend all of it',
    ],
    [
      'an allowance for a token that no strategy sells',
      { sellers: [] },
      'warning allowance: USDC: Permit2 may spend 50 USDC, but no strategy sells it -> `tranched approvals revoke USDC`',
    ],
  ] as const)('flags %s', (_, changes, message) => {
    expect(findings(trader(changes))).toEqual([expect.stringContaining(message)])
  })

  test('passes a wallet without allowances, since the daemon approves', () => {
    expect(verdicts(trader({ allowance: 0n }))).toContain('fine allowance')
  })

  test('requires neither ether nor allowances in a dry-run', () => {
    const checks = trader({ nativeBalance: 0n, allowance: 0n, signs: false })
    expect(verdicts(checks)).toEqual(['fine trader-code', 'fine trader-funds'])
  })
})

describe("check of the allowances in Permit2's own table", () => {
  const right = { token: USDC.address, spender: SPENDER, amount: usdc(7) }
  const now = { tokens: [USDC], nowMs: NOON_SECONDS * 1_000 }

  test('warns of live allowances with spender and amount', () => {
    const live = { ...right, expiresAtSeconds: NOON_SECONDS + 1 }
    expect(findings(checkRights([live], now))).toEqual([
      expect.stringContaining(
        `warning permit2-rights: ${SPENDER} has an allowance in Permit2's own table: 7 USDC`,
      ),
    ])
  })

  test('ignores expired allowances', () => {
    const expired = { ...right, expiresAtSeconds: NOON_SECONDS - 1 }
    expect(verdicts(checkRights([expired], now))).toEqual(['fine permit2-rights'])
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

describe('check of the operator account that sends calls', () => {
  test('passes a delegated, known and funded account', () => {
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
      'an account without a delegation',
      { delegation: { reason: 'not-delegated' } },
      'fault operator-delegation',
      '`tranched delegation set`',
    ],
    [
      'an account without a delegation, without callers',
      { delegation: { reason: 'not-delegated' }, callers: [] },
      'warning operator-delegation',
      '`tranched delegation set`',
    ],
    [
      'a foreign delegation, even without callers',
      { delegation: { reason: 'foreign-delegation' }, callers: [] },
      'fault operator-delegation',
      'find out who else has the key',
    ],
    ['an account without ether', { balance: 0n }, 'warning operator-gas', 'send some to'],
    [
      'a missing GasTank',
      { tank: undefined },
      'fault gastank-contract',
      'aggregator.contracts.gasTank',
    ],
    [
      'an unknown account without a deposit',
      { info: UNKNOWN, tank: { methods: 'balances', balance: 0n } },
      'fault gastank-account',
      '`tranched gastank deposit',
    ],
    ['an account that is not known yet', { info: UNKNOWN }, 'warning gastank-account', 'wait'],
    [
      'funds below alertBelow',
      { info: low },
      'fault gastank-funds: the GasTank has 0.0199999 ETH available, less than `alertBelow` 0.02 ETH',
      '`tranched gastank deposit',
    ],
  ] as const)('flags %s', (_, changes, message, remedy) => {
    const [finding = '', ...more] = findings(operator(changes as Partial<OperatorInput>))
    expect([finding, more]).toEqual([expect.stringContaining(message), []])
    expect(finding.split(' -> ')[1]).toContain(remedy)
  })

  test('omits funds if the service was not queried or did not answer', () => {
    const silent = { ok: false, fault: { tag: 'unavailable', message: 'gone' } } as const
    for (const info of [undefined, silent])
      expect(verdicts(operator({ info })).join()).not.toMatch(/gastank-(account|funds)/)
  })
})
