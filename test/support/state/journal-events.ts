import type { Token } from '../../../src/domain/money/token.ts'
import { type Address, baseUnits, type Hex } from '../../../src/domain/money/units.ts'
import type { CallRecord } from '../../../src/domain/order/call.ts'
import {
  type CallIntent,
  clientOrderId,
  type Intent,
  intentId,
  type SwapIntent,
} from '../../../src/domain/order/intent.ts'
import type { PermitRecord } from '../../../src/domain/order/permit.ts'
import type { EventOf, JournalEvent } from '../../../src/journal/events/registry.ts'
import type { Execution, Fill } from '../../../src/journal/records.ts'

export const STRATEGY = 'weekly-eth'
export const OWNER: Address = `0x${'a1'.repeat(20)}`
export const GAS_TANK: Address = `0x${'f6'.repeat(20)}`
const USDC: Token = {
  symbol: 'USDC',
  chain: 'base',
  chainId: 8453,
  address: `0x${'b2'.repeat(20)}`,
  decimals: 6,
}
const WETH: Token = { ...USDC, symbol: 'WETH', address: `0x${'c3'.repeat(20)}`, decimals: 18 }

export function bytes32(n: number): Hex {
  return `0x${n.toString(16).padStart(64, '0')}`
}

export const BOUND: EventOf<'bound'> = {
  type: 'bound',
  mode: 'sandbox',
  chainId: 8453,
  genesisHash: bytes32(7),
  owner: OWNER,
}

export function scheduled(strategy = STRATEGY): JournalEvent {
  return { type: 'strategy-scheduled', strategy, scheduleKey: '0 9 * * 1', fromSeconds: 1_000 }
}

export function intentOf(slotSeconds: number, strategy = STRATEGY): SwapIntent {
  return {
    venue: 'gasless',
    id: intentId({ strategy, slotSeconds, leg: 0 }),
    strategy,
    slotSeconds,
    leg: 0,
    owner: OWNER,
    recipient: OWNER,
    sell: { token: USDC, native: false },
    buy: { token: WETH, native: false },
    size: { side: 'sell', amount: baseUnits(25_000_000n) },
    maxSell: baseUnits(25_000_000n),
    slippageBps: 30,
    price: { min: undefined, max: { num: 4_000n, den: 1n } },
    maxDeviationBps: 200,
    priceCheck: 'feed',
    maxCostBps: undefined,
    startBeforeMs: slotSeconds * 1_000 + 60_000,
  }
}

export function callIntentOf(slotSeconds: number, strategy = STRATEGY): CallIntent {
  return {
    venue: 'aggregated',
    id: intentId({ strategy, slotSeconds, leg: 0 }),
    strategy,
    slotSeconds,
    leg: 0,
    owner: OWNER,
    target: `0x${'a7'.repeat(20)}`,
    calldata: '0xabcdef01',
    value: baseUnits(3n),
    gasLimit: 90_000n,
    label: 'poke()',
    startBeforeMs: slotSeconds * 1_000 + 60_000,
  }
}

/** Odd slots get a trusted call. */
export function callFor(
  intent: CallIntent,
  { attempt, nonce }: { readonly attempt: number; readonly nonce: bigint },
): CallRecord {
  const { target, value, calldata, gasLimit, slotSeconds } = intent
  const base = {
    attempt,
    clientOrderId: clientOrderId(intent.id, attempt),
    chainId: 1,
    account: OWNER,
    target,
    value,
    calldata,
    gasLimit,
    fromBlock: 77n,
    directGas: 60_000n,
    availableWei: 5n,
    envelope: {
      to: target,
      nonce: 1,
      gas: 100_000n,
      value: 0n,
      maxFeePerGas: 9n,
      maxPriorityFeePerGas: 1n,
    },
  }
  if (slotSeconds % 2 === 1) return { ...base, trust: 'trusted' }
  return {
    ...base,
    trust: 'trustless',
    verifyingContract: OWNER,
    deadlineSeconds: slotSeconds + 600,
    nonce,
    digest: bytes32(slotSeconds),
  }
}

export function executionOf(intent: CallIntent): Execution {
  return { ...placeOf(intent), via: 'aggregated', costs: { charged: 7n, direct: undefined } }
}

export function opened(intent: Intent): EventOf<'slot-opened'> {
  const { strategy, slotSeconds } = intent
  return { type: 'slot-opened', strategy, slotSeconds, intents: [intent] }
}

export function permitFor(intent: SwapIntent, attempt = 1): PermitRecord {
  return {
    chainId: 8453,
    permit2: `0x${'d4'.repeat(20)}`,
    owner: OWNER,
    token: USDC.address,
    amount: intent.maxSell,
    spender: `0x${'e5'.repeat(20)}`,
    nonce: 2n ** 200n + BigInt(intent.slotSeconds),
    deadlineSeconds: intent.slotSeconds + 600,
    recipient: OWNER,
    tokenOut: WETH.address,
    minAmountOut: baseUnits(6_000_000_000_000_000n),
    attempt,
    clientOrderId: clientOrderId(intent.id, attempt),
    quoteId: `quote-${intent.slotSeconds}`,
    digest: bytes32(intent.slotSeconds),
    fromBlock: 12_345n,
  }
}

export function exposed(intent: SwapIntent, attempt = 1): EventOf<'permit-recorded'> {
  return { type: 'permit-recorded', intentId: intent.id, permit: permitFor(intent, attempt) }
}

/** A transaction for the intent. */
function placeOf(intent: Intent): Pick<Fill, 'txHash' | 'blockNumber' | 'blockHash'> {
  const own = [...intent.strategy].reduce((sum, letter) => sum * 131 + letter.charCodeAt(0), 7)
  const txHash = bytes32((own % 2 ** 32) * 2 ** 16 + intent.slotSeconds + 1)
  return { txHash, blockNumber: 12_350n, blockHash: bytes32(1) }
}

export function fillOf(intent: SwapIntent): Fill {
  const place = placeOf(intent)
  const { txHash } = place
  return {
    ...place,
    paid: baseUnits(24_900_000n),
    received: baseUnits(6_100_000_000_000_000n),
    transfers: [`${txHash}:3`, `${txHash}:4`],
  }
}

/** One slot from its opening to its outcome, as a daemon writes it. */
export function filledSlot(slotSeconds: number, strategy = STRATEGY): readonly JournalEvent[] {
  const intent = intentOf(slotSeconds, strategy)
  const own = { intentId: intent.id, attempt: 1 }
  return [
    opened(intent),
    exposed(intent),
    { type: 'order-accepted', ...own, orderId: `order-${slotSeconds}` },
    { type: 'fill-proven', ...own, fill: fillOf(intent) },
    { type: 'intent-closed', intentId: intent.id, outcome: 'filled', reason: 'filled' },
    { type: 'slot-closed', strategy, slotSeconds, outcome: 'filled', reason: 'filled' },
  ]
}
