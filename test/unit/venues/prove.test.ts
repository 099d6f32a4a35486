import { describe, expect, test } from 'vitest'
import { type Address, baseUnits, type Hex } from '../../../src/domain/money/units.ts'
import type { Permit } from '../../../src/domain/order/permit.ts'
import type { TransactionTrace, Transfer } from '../../../src/ports.ts'
import { names, proveFill } from '../../../src/venues/swap/prove.ts'
import { settlementInput } from '../../simulation/chain/ledger.ts'
import { USDC, WALLET, WETH } from '../../simulation/stage.ts'
import { aPermit, milliWeth, NOON_SECONDS, usdc } from '../../support/builders.ts'

const POOL: Address = '0x00000000000000000000000000000000000000ff'
const STRANGER: Address = '0x00000000000000000000000000000000000bad00'
const HASH: Hex = `0x${'11'.repeat(32)}`

type Moved = Omit<Transfer, 'logIndex'>

function paid(amount: bigint): Moved {
  return { token: USDC.address, from: WALLET, to: POOL, amount }
}

function received(amount: bigint): Moved {
  return { token: WETH.address, from: POOL, to: WALLET, amount }
}

function traceOf(
  moved: readonly Moved[],
  changes: Partial<TransactionTrace> = {},
): TransactionTrace {
  const transfers = moved.map((transfer, logIndex) => ({ ...transfer, logIndex }))
  const block = { hash: HASH, blockNumber: 7n, blockHash: HASH }
  return { ...block, success: true, transfers, input: undefined, ...changes }
}

/** Calldata with the nonces and deadlines of these permits, in order. */
function inputOf(...permits: readonly Permit[]): Hex {
  const word = (value: bigint): string => value.toString(16).padStart(64, '0')
  const words = permits.map(
    ({ nonce, deadlineSeconds }) => word(nonce) + word(BigInt(deadlineSeconds)),
  )
  return `0x5e771e00${words.join('')}`
}

type Given = {
  permit?: Permit
  trace: TransactionTrace
  others?: readonly Permit[]
  claimed?: readonly string[]
}

function proof({ permit = aPermit(), trace, others = [], claimed = [] }: Given) {
  const mates = others.filter((other) => names(trace, other))
  return proveFill({ permit, trace, mates, claimed: new Map(claimed.map((key) => [key, 0])) })
}

describe('a transaction proves a fill', () => {
  test('if the owner paid at most the amount and the recipient received at least the minimum', () => {
    const trace = traceOf([paid(usdc(25)), received(milliWeth(10))])
    expect(proof({ trace })).toEqual({
      txHash: HASH,
      blockNumber: 7n,
      paid: usdc(25),
      received: milliWeth(10),
      transfers: [`${HASH}:0`, `${HASH}:1`],
    })
  })

  test('from several transfers among transfers of strangers', () => {
    const trace = traceOf([
      { ...paid(usdc(500)), from: STRANGER },
      paid(usdc(20)),
      paid(usdc(4)),
      { ...received(milliWeth(99)), to: STRANGER },
      received(milliWeth(6)),
      received(milliWeth(4)),
    ])
    expect(proof({ trace })).toMatchObject({ paid: usdc(24), received: milliWeth(10) })
  })

  test('exactly at both bounds', () => {
    const { minAmountOut } = aPermit()
    const trace = traceOf([paid(usdc(25)), received(minAmountOut)])
    expect(proof({ trace })).toMatchObject({ paid: usdc(25), received: minAmountOut })
  })
})

describe('a transaction proves nothing', () => {
  const good = [paid(usdc(25)), received(milliWeth(10))]
  test.each<[string, Given]>([
    ['that reverted', { trace: traceOf(good, { success: false }) }],
    [
      'in which too much was paid',
      { trace: traceOf([paid(usdc(25) + 1n), received(milliWeth(10))]) },
    ],
    [
      'in which too little was received',
      { trace: traceOf([paid(usdc(25)), received(aPermit().minAmountOut - 1n)]) },
    ],
    ['in which nothing was paid', { trace: traceOf([received(milliWeth(10))]) }],
    [
      'in which the wrong token was paid',
      { trace: traceOf([{ ...paid(usdc(25)), token: STRANGER }, received(milliWeth(10))]) },
    ],
    ['whose payment proves another order', { trace: traceOf(good), claimed: [`${HASH}:0`] }],
    ['whose receipt proves another order', { trace: traceOf(good), claimed: [`${HASH}:1`] }],
  ])('%s', (_name, given) => {
    expect(proof(given)).toBeUndefined()
  })
})

describe('a transaction that settles several orders of the wallet', () => {
  const first = aPermit()
  const second = aPermit({
    nonce: 0xbeef_0001_0002_0003n,
    amount: usdc(60),
    minAmountOut: milliWeth(23),
    deadlineSeconds: NOON_SECONDS + 45,
  })
  const trace = traceOf(
    [paid(usdc(25)), received(milliWeth(10)), paid(usdc(60)), received(milliWeth(24))],
    { input: inputOf(first, second) },
  )

  test('proves each by its own share', () => {
    expect(proof({ permit: first, trace, others: [second] })).toMatchObject({
      paid: usdc(25),
      transfers: [`${HASH}:0`, `${HASH}:1`],
    })
    expect(proof({ permit: second, trace, others: [first] })).toMatchObject({
      paid: usdc(60),
      transfers: [`${HASH}:2`, `${HASH}:3`],
    })
  })

  test('proves the same with zero-value transfers and any order of calldata', () => {
    const shuffled = traceOf(
      [paid(0n), paid(usdc(60)), received(milliWeth(24)), paid(0n), paid(usdc(25)), received(1n)],
      { input: inputOf(first, second) },
    )
    const honest = traceOf([...shuffled.transfers, received(milliWeth(10))], {
      input: inputOf(first, second),
    })
    expect(proof({ permit: first, trace: honest, others: [second] })).toMatchObject({
      paid: usdc(25),
      received: milliWeth(10),
    })
    expect(proof({ permit: second, trace: honest, others: [first] })).toMatchObject({
      paid: usdc(60),
    })
    expect(proof({ permit: first, trace: shuffled, others: [second] })?.received).not.toBe(1n)
  })

  test('records each at the maximum it may have paid and the minimum it may have received', () => {
    const exact = aPermit({
      nonce: 0xd0d0_0001_0002_0003n,
      amount: usdc(26),
      deadlineSeconds: NOON_SECONDS + 40,
    })
    const both = traceOf(
      [paid(usdc(24)), received(milliWeth(10)), paid(usdc(25)), received(milliWeth(11))],
      { input: inputOf(exact, first) },
    )
    const one = proof({ permit: exact, trace: both, others: [first] })
    expect(one).toMatchObject({ paid: usdc(25), received: milliWeth(10) })
    const claimed = one?.transfers ?? []
    // The amount that the first proof claims is recorded again instead of the smaller remainder.
    expect(proof({ permit: first, trace: both, claimed })).toMatchObject({
      paid: usdc(25),
      received: milliWeth(11),
      transfers: [`${HASH}:0`, `${HASH}:3`],
    })
  })

  describe('whose calldata contains the amounts', () => {
    const DEADLINE = NOON_SECONDS + 45
    const dear = aPermit({ nonce: 0xd0d0n << 200n, amount: usdc(26), deadlineSeconds: DEADLINE })
    const cheap = aPermit({ nonce: 0xbeefn << 200n, amount: usdc(25), deadlineSeconds: DEADLINE })
    const fills = [
      { permit: dear, paid: usdc(24) },
      { permit: cheap, paid: usdc(25) },
    ]
    const moved = [paid(usdc(24)), received(milliWeth(10)), paid(usdc(25)), received(milliWeth(11))]
    const honest = settlementInput(fills)
    const swapped = settlementInput([
      { permit: dear, paid: usdc(25) },
      { permit: cheap, paid: usdc(24) },
    ]).slice(10)
    const word = (value: bigint): string => value.toString(16).padStart(64, '0')

    function paidIn(input: Hex, transfers: readonly Moved[] = moved): readonly bigint[] {
      const trace = traceOf(transfers, { input })
      const one = proof({ permit: dear, trace, others: [cheap] })
      const other = proof({ permit: cheap, trace, claimed: one?.transfers ?? [] })
      return [one?.paid ?? 0n, other?.paid ?? 0n]
    }

    test('records each at its paid amount, in either order of proof', () => {
      expect(paidIn(honest)).toEqual([usdc(24), usdc(25)])
      const trace = traceOf(moved, { input: honest })
      const one = proof({ permit: cheap, trace, others: [dear] })
      const other = proof({ permit: dear, trace, claimed: one?.transfers ?? [] })
      expect([one?.transfers[0], other?.transfers[0]]).toEqual([`${HASH}:2`, `${HASH}:0`])
      expect([one?.paid, other?.paid]).toEqual([usdc(25), usdc(24)])
    })

    test('reads them from a nested call, and among orders of strangers', () => {
      const stranger = { permit: aPermit({ nonce: 7n << 200n, amount: usdc(90) }), paid: usdc(90) }
      const inner = settlementInput([stranger, ...fills]).slice(2)
      const outer: Hex = `0xac9650d8${word(32n)}${word(1n)}${word(BigInt(inner.length / 2))}${inner}`
      expect(paidIn(outer)).toEqual([usdc(24), usdc(25)])
    })

    const maxima = [usdc(25), usdc(25)]
    test.each<[string, Hex]>([
      ['contains no amounts', settlementInput(fills, { hidesAmounts: true })],
      ['has them in another order than they were paid', `0x5e771e00${swapped}`],
      ['has only one of them', honest.replace(word(usdc(24)), word(0n)) as Hex],
      [
        'has both of them next to both permits',
        honest
          .replace(word(usdc(24)), word(usdc(24)) + word(usdc(25)))
          .replace(new RegExp(`${word(usdc(25))}$`), word(usdc(25)) + word(usdc(24))) as Hex,
      ],
      ['has the permits twice', `${honest}${honest.slice(10)}`],
      [
        'has them at different distances',
        honest.replace(word(usdc(24)), word(0n) + word(usdc(24))) as Hex,
      ],
      [
        'has only nonces and deadlines next to them',
        `${inputOf(dear)}${word(usdc(24))}${inputOf(cheap).slice(10)}${word(usdc(25))}`,
      ],
      [
        'has them next to permits for other amounts',
        settlementInput(
          fills.map(({ permit, paid }) => ({ permit: { ...permit, amount: usdc(99) }, paid })),
        ),
      ],
    ])('records each at the maximum it may have paid if it %s', (_name, input) => {
      expect(paidIn(input)).toEqual(maxima)
    })

    test('records each at the maximum it may have paid if other amounts left the wallet', () => {
      const other = [
        paid(usdc(23)),
        received(milliWeth(10)),
        paid(usdc(25)),
        received(milliWeth(11)),
      ]
      expect(paidIn(honest, other)).toEqual(maxima)
    })

    test('records each at the maximum if it is flooded with the token address, because the search is bounded', () => {
      const words = word(BigInt(USDC.address)).repeat(4_000)
      expect(paidIn(`${honest}${words.slice(0, 900 * 64)}`)).toEqual([usdc(24), usdc(25)])
      expect(paidIn(`${honest}${words}`)).toEqual(maxima)
    })

    test('records the second at the maximum if the first is ambiguous', () => {
      // The first claims the larger payment, and the other amount may belong to anyone.
      const input = settlementInput([{ permit: cheap, paid: usdc(24) }])
      const trace = traceOf(moved, { input })
      const claimed = [`${HASH}:2`, `${HASH}:3`]
      expect(proof({ permit: cheap, trace, claimed })?.paid).toBe(usdc(25))
    })
  })

  test('proves nothing if it names more orders than were paid', () => {
    const alone = traceOf([paid(0n), paid(usdc(25)), received(milliWeth(10))], {
      input: inputOf(first, second),
    })
    expect(proof({ permit: first, trace: alone, others: [second] })).toBeUndefined()
  })

  test('records an order next to an unrecognised payment at no more than its own permit', () => {
    const unknown = traceOf([paid(usdc(60)), paid(usdc(25)), received(milliWeth(10))], {
      input: inputOf(first),
    })
    expect(proof({ permit: first, trace: unknown })).toMatchObject({
      paid: usdc(25),
      transfers: [`${HASH}:1`, `${HASH}:2`],
    })
    expect(proof({ permit: first, trace: { ...unknown, input: undefined } })).toBeUndefined()
  })

  test('matches a permit only at whole bytes of its calldata', () => {
    const words = inputOf(second).slice(10)
    const shifted: Hex = `0x5e771e000${words}0`
    const trace = traceOf([paid(usdc(25)), received(milliWeth(10))], { input: shifted })
    expect(proof({ permit: first, trace, others: [second] })).toMatchObject({ paid: usdc(25) })
  })

  test('proves the second by the transfers that the first left', () => {
    const claimed = [`${HASH}:0`, `${HASH}:1`]
    expect(proof({ permit: second, trace, claimed })).toMatchObject({ paid: usdc(60) })
  })

  test('proves nothing about an order that it does not settle, whatever the amounts', () => {
    const absent = aPermit({ nonce: 0xabcd_0001_0002_0003n, amount: usdc(60) })
    expect(proof({ permit: absent, trace, others: [first, second] })).toBeUndefined()
  })

  test('does not settle an order whose nonce only looks like an ABI offset', () => {
    const small = aPermit({ nonce: 32n, deadlineSeconds: NOON_SECONDS + 50 })
    const offset = `${'20'.padStart(64, '0')}`
    const input: Hex = `0x5e771e00${offset}${inputOf(first).slice(10)}`
    const alone = traceOf([paid(usdc(25)), received(milliWeth(10))], { input })
    expect(proof({ permit: first, trace: alone, others: [small] })).toMatchObject({
      paid: usdc(25),
    })
  })

  test('counts tokens separately: an order that sells another token has its own first transfer', () => {
    const reverse = aPermit({
      nonce: 0xcafe_0001_0002_0003n,
      token: WETH.address,
      amount: milliWeth(50),
      tokenOut: USDC.address,
      minAmountOut: baseUnits(1n),
    })
    const both = traceOf(
      [
        paid(usdc(25)),
        received(milliWeth(10)),
        { token: WETH.address, from: WALLET, to: POOL, amount: milliWeth(50) },
        { token: USDC.address, from: POOL, to: WALLET, amount: usdc(120) },
      ],
      { input: inputOf(first, reverse) },
    )
    expect(proof({ permit: reverse, trace: both, others: [first] })).toMatchObject({
      paid: milliWeth(50),
      received: usdc(120),
    })
  })
})
