import { describe, expect, test } from 'vitest'
import type { Verdict } from '../../../src/domain/order/manual-resolution.ts'
import type { ExecutionOutcome, Findings } from '../../../src/venues/manual/findings.ts'
import { refusalOf } from '../../../src/venues/manual/manual-answers.ts'
import { USDC } from '../../simulation/stage.ts'

const HASH = `0x${'11'.repeat(32)}` as const
const DEAD: Verdict = { as: 'dead' }
const EXECUTED: Verdict = { as: 'executed', txHash: undefined }
const IN_TX: Verdict = { as: 'executed', txHash: HASH }

function findings(
  outcome: ExecutionOutcome,
  changes: Partial<Findings> & { isGuarded?: boolean } = {},
): Findings {
  const { isGuarded = true, ...more } = changes
  return {
    signed: {
      kind: isGuarded ? 'permit' : 'trusted call',
      token: USDC,
      most: 25n,
      spender: undefined,
      recipient: '0x01',
      nonce: isGuarded ? 7n : undefined,
      deadlineSeconds: isGuarded ? 100 : undefined,
    },
    head: undefined,
    final: undefined,
    isPast: undefined,
    outcome,
    found: [],
    searchFault: undefined,
    named: { txHash: HASH, blockNumber: 5n, success: true, shows: 'nothing' },
    ...more,
  }
}

const reason = (found: Findings, verdict: Verdict) => refusalOf(found, verdict)?.reason

const why = 'because'
const USED: ExecutionOutcome = { tag: 'used', isFinal: false }
const USED_FOR_GOOD: ExecutionOutcome = { tag: 'used', isFinal: true }
const OVER: ExecutionOutcome = { tag: 'over', why }
const LIVE: ExecutionOutcome = { tag: 'live', why }
const UNGUARDED: ExecutionOutcome = { tag: 'unguarded', why }
const UNKNOWN: ExecutionOutcome = { tag: 'unknown', why }
const UNREADABLE: ExecutionOutcome = { tag: 'indeterminate', why, isOver: true }
const UNREADABLE_LIVE: ExecutionOutcome = { tag: 'indeterminate', why, isOver: false }

describe('the allowed manual resolutions', () => {
  test.each([
    ['a used nonce', USED, ['nonce-used', 'not-final', undefined]],
    ['a nonce whose use is final', USED_FOR_GOOD, ['nonce-used', undefined, undefined]],
    ['an unused nonce past its deadline', OVER, [undefined, 'nonce-unused', 'nonce-unused']],
    ['a nonce that may still be used', LIVE, ['still-live', 'nonce-unused', 'nonce-unused']],
    ['an unknown chain status', UNKNOWN, ['chain-unknown', 'chain-unknown', 'chain-unknown']],
    ['an unreadable account', UNREADABLE, ['chain-unknown', undefined, undefined]],
    [
      'an unreadable account before the deadline',
      UNREADABLE_LIVE,
      ['chain-unknown', 'still-live', 'still-live'],
    ],
  ] as const)('of %s', (_, outcome, [dead, executed, inTx]) => {
    const found = findings(outcome)
    expect([reason(found, DEAD), reason(found, EXECUTED), reason(found, IN_TX)]).toEqual([
      dead,
      executed,
      inTx,
    ])
  })

  test.each([
    ['may execute at any time', UNGUARDED, ['still-live', undefined, undefined]],
    ['cannot execute any more', OVER, [undefined, undefined, undefined]],
  ] as const)('of a trusted call that %s', (_, outcome, [dead, executed, inTx]) => {
    const found = findings(outcome, { isGuarded: false })
    expect([reason(found, DEAD), reason(found, EXECUTED), reason(found, IN_TX)]).toEqual([
      dead,
      executed,
      inTx,
    ])
  })

  test('require a named transaction to exist', () => {
    for (const isGuarded of [true, false]) {
      const outcome = isGuarded ? USED_FOR_GOOD : UNGUARDED
      const absent = findings(outcome, { named: 'absent', isGuarded })
      expect(reason(absent, IN_TX)).toBe('no-such-transaction')
      const unread = findings(outcome, { named: undefined, isGuarded })
      expect(reason(unread, IN_TX)).toBe('chain-unknown')
      expect(reason(unread, EXECUTED)).toBeUndefined()
    }
  })
})
